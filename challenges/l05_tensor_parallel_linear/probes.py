"""Probes of l05: what the ranks do. They build layers from what the judge sent, run them, and return what came out.

`groups` is a list of lists of global ranks; each rank works in the group that holds it.
"""

import contextlib

import torch
import torch.distributed as dist

from mini_infra.megatron.core.distributed.finalize_model_grads import _allreduce_non_tensor_model_parallel_grads
from mini_infra.megatron.core.model_parallel_config import ModelParallelConfig
from mini_infra.megatron.core.tensor_parallel import mappings
from mini_infra.megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear

REGIONS = {
    "copy": mappings.copy_to_tensor_model_parallel_region,
    "reduce": mappings.reduce_from_tensor_model_parallel_region,
    "scatter": mappings.scatter_to_tensor_model_parallel_region,
    "gather": mappings.gather_from_tensor_model_parallel_region,
    "seq_gather": mappings.gather_from_sequence_parallel_region,
    "seq_reduce_scatter": mappings.reduce_scatter_to_sequence_parallel_region,
}
_groups = {}


def tp_group(groups):
    """This rank's process group, None for None; made once a world, by all ranks together."""
    if groups is None:
        return None
    key = str(groups)
    if key not in _groups:
        made = [dist.new_group(ranks) for ranks in groups]
        _groups[key] = next(g for g, ranks in zip(made, groups, strict=True) if dist.get_rank() in ranks)
    return _groups[key]


def region(name, groups, x, y, flags=None):
    """One border: F x and, for the upstream gradient y, its adjoint Fᵀ y."""
    x.requires_grad_()
    fx = REGIONS[name](x, tp_group(groups), **(flags or {}))
    (fty,) = torch.autograd.grad((fx * y).sum(), x)
    return {"Fx": fx, "Fty": fty}


def shared_region(name, groups, x, y, w):
    """A border beside a residual branch 3·w. Returns w's gradient, and what x and the gradient they share became."""
    shared = beside_residual(lambda: REGIONS[name](x.requires_grad_(), tp_group(groups)), w, y)
    return {"dw": w.grad, "shared": shared, "x": x}


def beside_residual(branch, w, y):
    """Backward of ⟨branch() + 3·w, y⟩, the residual built first. Returns the gradient tensor that both receive."""
    shared = []
    residual = w.requires_grad_() * 3
    total = branch() + residual
    total.register_hook(shared.append)
    (total * y).sum().backward()
    return shared[0]


def make_layer(kind, groups, input_size, output_size, dtype, bias, flags):
    """A layer of the given kind with all-zero weights. `flags`: the layer's own, and `sequence_parallel`."""
    group, flags = tp_group(groups), dict(flags)
    config = ModelParallelConfig((group or dist.group.WORLD).size(), flags.pop("sequence_parallel", False), dtype)
    defaults = {} if kind == "column" else {"input_is_parallel": True, "skip_bias_add": False}
    maker = ColumnParallelLinear if kind == "column" else RowParallelLinear
    options = {"config": config, "init_method": torch.nn.init.zeros_, "bias": bias, "tp_group": group}
    return maker(input_size, output_size, **options, **(defaults | flags))


def load_layer(kind, groups, weight, bias, flags, frozen=False):
    """A layer that holds this rank's `weight` and `bias` (None: no bias)."""
    tp, (rows, columns) = tp_group(groups).size(), weight.shape
    sizes = (columns, rows * tp) if kind == "column" else (columns * tp, rows)
    layer = make_layer(kind, groups, *sizes, weight.dtype, bias is not None, flags)
    layer.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    layer.weight.requires_grad_(not frozen)
    return layer


def linear(kind, groups, weight, bias, x, flags, lab_record, grad=None, bias_grad=None, frozen=False, ops=False):
    """Forward of one layer and, for the upstream gradient `grad`, backward. `ops`: record backward's operations too.

    `bias_grad`: the upstream gradient of the second output, where the layer returns one.
    """
    layer = load_layer(kind, groups, weight, bias, flags, frozen)
    x.requires_grad_()
    with lab_record.phase("forward"):
        y, output_bias = layer(x)
    out = {"y": y, "output_bias": output_bias}
    if grad is None:
        return out
    with lab_record.phase("backward"), lab_record.ops() if ops else contextlib.nullcontext():
        loss = (y * grad).sum()
        if bias_grad is not None and output_bias is not None:
            loss = loss + (output_bias * bias_grad).sum()
        loss.backward()
    return out | {"dx": x.grad, "dw": layer.weight.grad, "db": None if bias is None else layer.bias.grad}


def strided_linear(kind, groups, weight, bias, x, grad, flags, lab_record):
    """The same with a non-contiguous input, and `grad` [b, o] expanded by sum(0) as upstream gradient."""
    layer = load_layer(kind, groups, weight, bias, flags)
    leaf = x.transpose(0, 1).contiguous().requires_grad_()  # [b, s, h]
    y, _ = layer(leaf.transpose(0, 1))
    (y.sum(0) * grad).sum().backward()
    return {"y": y, "dx": leaf.grad.transpose(0, 1), "dw": layer.weight.grad, "db": layer.bias.grad}


def saved_linear(kind, groups, weight, bias, x, strided, flags, lab_record):
    """What one layer's forward holds for backward: elements saved, and elements held in any other way.

    A neighbour saves the same input, perhaps a transposed one: only a copy of it adds to what is saved.
    """
    layer = load_layer(kind, groups, weight, bias, flags)
    leaf = (x.transpose(0, 1) if strided else x).clone(memory_format=torch.contiguous_format).requires_grad_()
    input_ = leaf.transpose(0, 1) if strided else leaf
    with lab_record.saved() as saved:
        input_.square()
        y, _ = layer(input_)
    return {"saved": saved.numel, "held": held_elements(y.grad_fn, layer, leaf)}


def held_elements(node, layer, leaf):
    """Elements of the tensors that autograd's nodes and the layer hold as attributes, each storage once.

    What shares its storage with the input or a parameter costs nothing.
    """
    held, nodes = [*vars(layer).values()], [node]
    while nodes:
        node = nodes.pop()
        held += getattr(node, "__dict__", {}).values()
        nodes += [before for before, _ in node.next_functions if before is not None]
    flat = [item for value in held for item in (value if isinstance(value, list | tuple) else [value])]
    tensors = {t.untyped_storage().data_ptr(): t for t in flat if isinstance(t, torch.Tensor)}
    free = {t.untyped_storage().data_ptr() for t in (leaf, *layer.parameters())}
    return sum(t.numel() for storage, t in tensors.items() if storage not in free)


def shared_linear(kind, groups, weight, bias, x, grad, w, flags):
    """A layer beside a residual branch 3·w. Returns everything that must keep its bits."""
    layer = load_layer(kind, groups, weight, bias, flags)
    shared = beside_residual(lambda: layer(x.requires_grad_())[0], w, grad)
    return {"residual": w.grad, "grad": shared, "x": x, "weight": layer.weight, "bias": layer.bias}


def construct(kind, groups, sizes, flags):
    """Build a layer and return what its constructor decided."""
    layer = make_layer(kind, groups, *sizes, torch.float32, True, flags)
    return {"weight": list(layer.weight.shape), "bias": list(layer.bias.shape)} | {
        "partial_bias_grad": getattr(layer.bias, "sequence_parallel", False)
    }


def finalize(groups, params, grads, sequence_parallel, tp):
    """Reduce the gradients of two chunks. `params`: one dict a parameter; `grads`: this rank's, None for no gradient.

    Returns for each parameter the tensor that held its gradient *before* the call, and what it refers to after.
    """
    chunks = [torch.nn.Module(), torch.nn.Module()]
    made = [
        add_parameter(chunks[p["chunk"]], f"p{i}", p, g) for i, (p, g) in enumerate(zip(params, grads, strict=True))
    ]
    held = [getattr(param, attribute) for param, attribute in made]
    config = ModelParallelConfig(tp, sequence_parallel)
    _allreduce_non_tensor_model_parallel_grads(chunks, config, tp_group(groups))
    return {"held": held, "now": [getattr(param, attribute) for param, attribute in made]} | {
        "plain": [param.grad if attribute == "main_grad" else None for param, attribute in made]
    }


def add_parameter(chunk, name, spec, grad):
    """One marked parameter with its gradient, in `main_grad` or in `grad`; `off` are marks that are set to False.

    Beside a `main_grad`, `grad` is None (`alone`) or holds -1.
    """
    param = torch.nn.Parameter(torch.zeros(spec["shape"], dtype=torch.float64))
    chunk.register_parameter(name, param)
    for mark in spec["marks"]:
        setattr(param, mark, True)
    for mark in spec["off"]:
        setattr(param, mark, False)
    if spec["main"]:
        buffer = torch.zeros(grad.numel() + 2, dtype=grad.dtype)
        param.main_grad = buffer[1:-1].view(spec["shape"]).copy_(grad)
        grad = None if spec["alone"] else torch.full_like(param, -1.0)
    param.grad = grad
    param.requires_grad_(spec["trainable"])
    return param, "main_grad" if spec["main"] else "grad"


def train(groups, norm, column, row, xs, targets, lr):
    """SGD on LayerNorm → column → gelu → row with sequence parallelism; one step for each of `xs` [s/tp, b, h].

    norm, column, row: {"weight", "bias"} of this rank. Loss: mean square against `targets`, over all ranks' tokens.
    """
    group, flags = tp_group(groups), {"sequence_parallel": True}
    first = torch.nn.LayerNorm(norm["weight"].shape[0], dtype=torch.float64)
    first.load_state_dict(norm)
    for param in first.parameters():
        param.sequence_parallel = True
    second = load_layer("column", groups, column["weight"], column["bias"], flags)
    third = load_layer("row", groups, row["weight"], row["bias"], flags)
    model = torch.nn.ModuleDict({"norm": first, "column": second, "row": third})
    for x, target in zip(xs, targets, strict=True):
        hidden, _ = second(first(x))  # [s, b, o/tp]
        y, _ = third(torch.nn.functional.gelu(hidden))  # [s/tp, b, h]
        ((y - target).square().sum() / (target.numel() * group.size())).backward()
        _allreduce_non_tensor_model_parallel_grads([model], ModelParallelConfig(group.size(), True), group)
        sgd_step(model, lr)
    return dict(model.named_parameters())


def sgd_step(model, lr):
    """Plain gradient descent; a parameter without a gradient stays."""
    with torch.no_grad():
        for param in model.parameters():
            if param.grad is not None:
                param -= lr * param.grad
                param.grad = None
