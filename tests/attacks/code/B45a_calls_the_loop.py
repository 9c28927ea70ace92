"""Calls the step loop of the same module: right values at the wrong cost.

lint: FAIL or TIMEOUT
wall: FAIL or TIMEOUT
defends: P12
says: torch operations|timeout@vanilla_gae
lab: l29
"""


def _hole(rewards, values, deltas, discount, chunk_size):
    advantages = vanilla_gae(deltas, torch.zeros_like(deltas), discount, 1.0)[0] if deltas.shape[1] else deltas
    return advantages.to(values.dtype), (advantages + values).to(values.dtype)
