"""The lab's own probes, on megatron-core's layers, borders and gradient reduction."""

import functools
from types import SimpleNamespace

import probes


def patch(name, inputs, **options):
    """The probe of that name in probes.py, for each of the inputs."""
    return [getattr(probes, name)(**options, **one) for one in inputs]


def linear(inputs, lab_record):
    return patch("linear", inputs, lab_record=lab_record)


def upstream(name, inputs):
    """The same with megatron-core in the place of the lab's mini_infra."""
    _use_megatron()
    return patch(name, inputs)


def upstream_linear(inputs, lab_record):
    _use_megatron()
    return linear(inputs, lab_record)


def _use_megatron():
    from megatron.core.tensor_parallel import layers, mappings

    probes.ModelParallelConfig = _config
    probes.ColumnParallelLinear, probes.RowParallelLinear = layers.ColumnParallelLinear, layers.RowParallelLinear
    probes.REGIONS = {name: _by_keyword(getattr(mappings, own.__name__)) for name, own in probes.REGIONS.items()}
    probes._allreduce_non_tensor_model_parallel_grads = _finalize


def _config(tensor_model_parallel_size=1, sequence_parallel=False, params_dtype=None):
    from megatron.core.model_parallel_config import ModelParallelConfig

    given = {"use_cpu_initialization": True} | ({"params_dtype": params_dtype} if params_dtype else {})
    config = ModelParallelConfig(tensor_model_parallel_size, sequence_parallel=sequence_parallel, **given)
    config.qk_layernorm = False  # of TransformerConfig, which gradient reduction reads
    return config


def _by_keyword(region):
    """Upstream's order of parameters differs from one border to the next."""
    return functools.wraps(region)(lambda input_, group, **flags: region(input_, group=group, **flags))


def _finalize(model, config, tp_group):
    from megatron.core.distributed import finalize_model_grads

    for chunk in model:
        chunk.ddp_config = SimpleNamespace(use_megatron_fsdp=False)
    finalize_model_grads._allreduce_non_tensor_model_parallel_grads(model, config, tp_group)
