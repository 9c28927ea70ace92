"""Puts sparse, quantised, nested and wrapped tensors into one answer, to break who encodes or decodes them.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P7 P11
"""

import sys


def _odd():
    dense = torch.eye(3)
    yield lambda: dense.to_sparse()
    yield lambda: torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8)
    yield lambda: torch.nested.nested_tensor([dense, dense], layout=torch.jagged)
    yield lambda: torch._C._functorch._wrap_for_grad(dense, 1)
    yield lambda: torch.empty(2, device="meta")
    yield lambda: torch._neg_view(dense)
    yield lambda: torch.view_as_complex(torch.zeros(2, 2)).conj()


def _region(**inputs):
    made = []
    for maker in _odd():
        try:
            made.append(maker())
        except Exception:
            continue
    return {"Fx": made[inputs["x"].numel() % len(made)], "Fty": made}


def _hole(grad_output, ctx):
    sys.modules["probes"].region = _region
    return _right(grad_output, ctx)
