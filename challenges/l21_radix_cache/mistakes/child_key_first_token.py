"""Children are told apart by their first page, not their first token."""


class RadixKey:
    def child_key(self, page_size: int = 1) -> Hashable:
        return (self.extra_key, self.token_ids[0])
