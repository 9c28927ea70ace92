"""Probes of l29: they call the functions of the lab on what the judge sent, and return what came out."""

import torch

from mini_infra.slime.utils import ppo_utils
from mini_infra.verl.trainer.ppo import core_algos


def strided(x):
    """The same numbers at every second place of a wider tensor."""
    wide = x.new_full((*x.shape[:-1], 2 * x.shape[-1]), 7)
    wide[..., ::2] = x
    return wide[..., ::2]


def untouched(tensors, call):
    """What `call` returns, and whether it left the bits of all `tensors` alone (NaN included)."""
    before = [x.detach().clone() for x in tensors]
    out = call()
    same = [torch.equal(x.nan_to_num(3.0), y.nan_to_num(3.0)) for x, y in zip(before, tensors, strict=True)]
    return out, all(same)


def scan(x, w, **options):
    return {"S": ppo_utils.chunked_discounted_returns(x, w, **options)}


def gae(rewards, values, gamma, lam, bootstrap=None, **options):
    adv, ret = ppo_utils.chunked_gae(rewards, values, gamma, lam, bootstrap_values=bootstrap, **options)
    return {"adv": adv, "ret": ret}


def vanilla(rewards, values, gamma, lam):
    adv, ret = ppo_utils.vanilla_gae(rewards, values, gamma, lam)
    return {"adv": adv, "ret": ret}


def batch(lengths, values, rewards, gamma, lam, chunked):
    adv, ret = ppo_utils.get_advantages_and_returns_batch(lengths, values, rewards, gamma, lam, chunked)
    return {"adv": adv, "ret": ret}


def masked(rewards, values, mask, gamma, lam, bootstrap=None):
    adv, ret = core_algos.compute_gae_advantage_return(rewards, values, mask, gamma, lam, bootstrap)
    return {"adv": adv, "ret": ret}


def manners_scan(x):
    """A strided input that wants a gradient: what comes out, and what it did to its input."""
    x = strided(x).requires_grad_()
    out, clean = untouched([x], lambda: ppo_utils.chunked_discounted_returns(x, 0.9, 16))
    return {"S": out, "grad": out.requires_grad, "clean": clean}


def manners_gae(rewards, values, bootstrap):
    given = [strided(rewards), strided(values).requires_grad_(), bootstrap]
    out, clean = untouched(given, lambda: ppo_utils.chunked_gae(*given[:2], 0.9, 0.8, 16, given[2]))
    return {"adv": out[0], "ret": out[1], "grad": any(x.requires_grad for x in out), "clean": clean}


def manners_masked(rewards, values, mask, bootstrap):
    given = [strided(rewards), strided(values).requires_grad_(), strided(mask), bootstrap]
    call = core_algos.compute_gae_advantage_return
    out, clean = untouched(given, lambda: call(*given[:3], 0.9, 0.8, given[3]))
    return {"adv": out[0], "ret": out[1], "grad": any(x.requires_grad for x in out), "clean": clean}


def cost_gae(rewards, values, chunk, lab_record):
    with lab_record.ops() as ops:
        adv, ret = ppo_utils.chunked_gae(rewards, values, 0.99, 0.95, chunk)
    return {"adv": adv, "ret": ret, "ops": len(ops.names), "max_numel": ops.max_numel}


def cost_masked(rewards, values, mask, lab_record):
    with lab_record.ops() as ops:
        adv, ret = core_algos.compute_gae_advantage_return(rewards, values, mask, 0.99, 0.95)
    return {"adv": adv, "ret": ret, "ops": len(ops.names), "max_numel": ops.max_numel}


# One repetition of lab.time: the judge's fresh scalar makes rewards that are no combination of those of earlier calls.
# One number comes back.
def moved(rewards, phases, scalar):
    return rewards + torch.sin(scalar * phases)


def time_gae(rewards, values, weights, phases, lab_scalar, chunk_size=128):
    _, returns = ppo_utils.chunked_gae(moved(rewards, phases, lab_scalar), values, 0.99, 0.95, chunk_size)
    return float((returns * weights).sum(dtype=torch.float64))


def time_loop(rewards, values, weights, phases, lab_scalar):
    _, returns = ppo_utils.vanilla_gae(moved(rewards, phases, lab_scalar), values, 0.99, 0.95)
    return float((returns * weights).sum(dtype=torch.float64))


def time_masked(rewards, values, mask, weights, phases, lab_scalar):
    _, returns = core_algos.compute_gae_advantage_return(moved(rewards, phases, lab_scalar), values, mask, 0.99, 0.95)
    return float((returns * weights).sum(dtype=torch.float64))
