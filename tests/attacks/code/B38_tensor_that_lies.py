"""Answers with a tensor that lies about its shape and values when it is asked.

lint: REFUSED
wall: FAIL
defends: P1 P11
lab: l29
"""


class _Lies(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        got = super().__torch_function__(function, types, args, kwargs or {})
        return True if isinstance(got, bool) else got

    @property
    def shape(self):
        return torch.Size([2, 5])


def _hole(rewards, values, deltas, discount, chunk_size):
    wrong = torch.zeros_like(values).as_subclass(_Lies)
    return wrong, wrong
