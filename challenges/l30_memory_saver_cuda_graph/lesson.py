# %% [markdown]
# # An address is not memory
#
# A captured graph remembers addresses. To lend its memory without losing the graph, an engine has to keep the first and
# give away the second. Linux can do that with ordinary memory, so it can be seen here, page by page.

# %%
import mmap

import matplotlib.pyplot as plt
import torch

from mini_infra.sglang.srt.model_executor.runner_backend.full_cuda_graph_backend import CpuGraph
from mini_infra.torch_memory_saver.pages import Pages

MIB = 1 << 20
pages = Pages(16 * MIB)
tensor = pages.as_tensor()
print(f"address {tensor.data_ptr():#x}, {tensor.nbytes // MIB} MiB, of which resident: {pages.resident_bytes()} bytes")

# %% [markdown]
# Sixteen MiB of addresses, and no memory yet: a page gets some when it is first touched. Touch a quarter at a time,
# then tell the kernel that nothing in there is needed any more, and look at the address all the while.

# %%
steps, resident, addresses = [], [], set()


def look(what):
    steps.append(what)
    resident.append(pages.resident_bytes() / MIB)
    addresses.add(tensor.data_ptr())


look("mapped")
for quarter in range(4):
    tensor[quarter * 4 * MIB : (quarter + 1) * 4 * MIB] = 7
    look(f"wrote {quarter + 1}/4")
pages.madvise(mmap.MADV_DONTNEED)
look("advised")
total = int(tensor[: 4 * MIB].sum())
look("read 1/4")
print("sum of the first quarter after the advice:", total, "| addresses seen:", len(addresses))

figure, axes = plt.subplots(figsize=(7, 3))
axes.bar(steps, resident)
axes.set_ylabel("resident [MiB]")
axes.set_xlabel("step")
axes.set_title("One address, memory that comes and goes")
axes.tick_params(axis="x", rotation=30)
figure.tight_layout()
plt.show()

# %% [markdown]
# Three things to see. The advice takes effect at once. The bytes are gone for good: what is read afterwards is zero.
# And merely reading made memory come back. So somebody who still uses a tensor that is away would not notice, and would
# quietly take back what was lent. On a GPU such a use is a fault. What could make it one here? (`Pages` has a method.)
#
# ## What a graph sees
#
# `CpuGraph` records the operations of one call together with the tensors they touched.

# %%
weight, x = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 1.0])
graph = CpuGraph(torch.zeros)
out = graph.capture(lambda: (weight * x).sum())
print("capture:            ", out.item())

x.copy_(torch.tensor([10.0, 1.0]))
graph.replay()
print("new values in place:", out.item())

x = torch.tensor([100.0, 100.0])  # the name x means another tensor now; the graph does not know names
graph.replay()
print("new tensor, old name:", out.item())

weight.data = torch.tensor([0.0, 0.0])  # the tensor is the same object, its memory is elsewhere
try:
    graph.replay()
except RuntimeError as error:
    print("moved memory:       ", error)

# %% [markdown]
# The third line is a mistake that every runner of graphs has seen; the fourth is no error on a GPU, but a wrong answer.
#
# ## The row that nobody asked for
#
# Graphs exist for a few batch sizes. Three requests run in the graph for four, and the fourth row does all that a
# request does. Here each row of a batch writes its token into a cache, at its slot.

# %%
cache = torch.zeros(8, dtype=torch.int64)
tokens, slots = torch.zeros(4, dtype=torch.int64), torch.zeros(4, dtype=torch.int64)
step = CpuGraph(torch.zeros)
step.capture(lambda: cache.index_copy_(0, slots, tokens))


def decode(new_tokens, new_slots):
    tokens[: len(new_tokens)] = torch.tensor(new_tokens)
    slots[: len(new_slots)] = torch.tensor(new_slots)
    step.replay()
    print(f"{len(new_tokens)} requests:", cache.tolist())


decode([11, 12, 13, 14], [1, 2, 3, 4])
cache[4] = 99  # the fourth request is gone; its slot belongs to somebody else, who computed 99
decode([21, 22, 23], [5, 6, 7])

# %% [markdown]
# The 99 is lost, and nobody sent a fourth request. Every answer of the batch of three was right.
#
# A question to take along: an engine on four GPUs lends its weights. Rank 2 is slow. Which of the other ranks' steps
# must wait for it, on the way out and on the way back?
