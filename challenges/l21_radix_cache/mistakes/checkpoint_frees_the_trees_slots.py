"""Of the cached part of the row only what lies beyond `cache_protected_len` is the request's to free."""


class RadixCache:
    def checkpoint(self, req: Req, *, up_to: int) -> None:
        key = RadixKey(req.token_ids[:up_to], req.extra_key).page_aligned(self.page_size)
        row = self.req_to_token_pool.req_to_token[req.req_pool_idx, : len(key)]  # a view
        cached = self.insert(key, row, inserted_len=req.cache_inserted_len).prefix_len
        req.cache_inserted_len = len(key)
        self.token_to_kv_pool_allocator.free(row[:cached])

        node = self.match_prefix(key).last_device_node
        self.req_to_token_pool.write((req.req_pool_idx, slice(0, len(key))), self.path_device_indices(node))
        self.inc_lock_ref(node)
        self.dec_lock_ref(req.last_node)
        req.last_node = node
        req.cache_protected_len = len(key)
