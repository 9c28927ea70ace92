"""The answers are right. For a prompt of 6,000 tokens Python looks at each of them; how many comparisons does it
need to find where two keys part?"""


class RadixKey:
    def match(self, other: RadixKey, page_size: int = 1) -> int:
        length = 0
        for mine, theirs in zip(self.token_ids, other.token_ids, strict=False):
            if mine != theirs:
                break
            length += 1
        if self.extra_key != other.extra_key:
            raise ValueError("keys of different namespaces do not compare")
        return length // page_size * page_size
