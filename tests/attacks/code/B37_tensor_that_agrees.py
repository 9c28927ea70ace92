"""Answers with a tensor that calls itself equal to anything.

lint: REFUSED
wall: FAIL
defends: P1 P11
lab: l29
"""


class _Agrees(torch.Tensor):
    def __eq__(self, other):
        return torch.ones(self.shape, dtype=torch.bool)

    def __bool__(self):
        return True

    def __array__(self, dtype=None):
        raise KeyboardInterrupt


def _hole(rewards, values, deltas, discount, chunk_size):
    wrong = torch.zeros_like(values).as_subclass(_Agrees)
    return wrong, wrong
