"""Many cases in one answer: the patch's side by the lab's own probes, upstream's by the functions below."""


def patch(name, inputs):
    """The probe of that name in probes.py, for each of the inputs."""
    import probes

    return [getattr(probes, name)(**one) for one in inputs]


def upstream(name, inputs):
    """The function of that name below, for each of the inputs."""
    return [globals()[name](**one) for one in inputs]


def masked(rewards, values, mask, gamma, lam):
    from verl.trainer.ppo import core_algos

    adv, ret = core_algos.compute_gae_advantage_return(rewards, values, mask, gamma, lam)
    return {"adv": adv, "ret": ret}


def scan(x, w, chunk_size):
    from slime.utils import ppo_utils

    return {"S": ppo_utils.chunked_discounted_returns(x, w, chunk_size)}


def gae(rewards, values, gamma, lam, chunk_size):
    from slime.utils import ppo_utils

    adv, ret = ppo_utils.chunked_gae(rewards, values, gamma, lam, chunk_size)
    return {"adv": adv, "ret": ret}


def vanilla(rewards, values, gamma, lam):
    from slime.utils import ppo_utils

    adv, ret = ppo_utils.vanilla_gae(rewards, values, gamma, lam)
    return {"adv": adv, "ret": ret}
