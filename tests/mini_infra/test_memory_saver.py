"""What l30 is given: pages, the kernel's word about them, recorded graphs, the runner's buckets and buffers."""

import contextlib
import faulthandler
import mmap
import os
import signal

import pytest
import torch

from mini_infra.sglang.srt.managers.scheduler_components import weight_updater
from mini_infra.sglang.srt.model_executor.runner.base_cuda_graph_runner import BaseCudaGraphRunner
from mini_infra.sglang.srt.model_executor.runner_backend.full_cuda_graph_backend import CpuGraph, FullCudaGraphBackend
from mini_infra.sglang.srt.model_executor.runner_utils.buffers import DecodeInputBuffers
from mini_infra.torch_memory_saver.entrypoint import TorchMemorySaver
from mini_infra.torch_memory_saver.pages import Pages
from mini_infra.torch_memory_saver.residency import mappings, permissions, resident_bytes

PAGE = mmap.PAGESIZE


def dies(action) -> int:
    """The signal that ends a child which does `action`; 0 if it lives."""
    if (child := os.fork()) == 0:
        faulthandler.disable()  # the signal is no accident
        action()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def test_pages_are_rounded_up_aligned_and_not_resident():
    pages = Pages(PAGE + 1)
    assert (pages.nbytes, pages.address % PAGE, pages.resident_bytes()) == (2 * PAGE, 0, 0)
    assert pages.as_tensor().data_ptr() == pages.address


def test_the_kernel_counts_touched_pages():
    pages = Pages(4 * PAGE)
    pages.as_tensor()[PAGE] = 1
    pages.as_tensor()[3 * PAGE :].sum()
    assert pages.resident_bytes() == resident_bytes(pages.address, 4 * PAGE) == 2 * PAGE
    pages.madvise(mmap.MADV_DONTNEED)
    assert pages.resident_bytes() == 0
    assert not pages.as_tensor().any()


def test_a_guard_page_lies_behind():
    pages = Pages(PAGE)
    assert permissions(pages.address, PAGE, mappings()) == "rw-p"
    assert permissions(pages.address + PAGE, PAGE, mappings()) == "---p"
    assert permissions(pages.address, 2 * PAGE, mappings()) == "mixed"


def test_what_is_not_mapped_has_no_mode():
    assert permissions(0, PAGE, mappings()) == ""


def test_a_call_that_the_kernel_refuses_is_an_error():
    with pytest.raises(OSError, match="mincore"):
        resident_bytes(0, PAGE)


def test_protected_pages_kill():
    pages = Pages(PAGE)
    tensor = pages.as_tensor()
    pages.protect(False)
    assert dies(lambda: tensor[0].item()) == signal.SIGSEGV
    pages.protect(True)
    assert dies(lambda: tensor[0].item()) == 0


def test_pages_outlive_their_object():
    tensor = Pages(PAGE).as_tensor()
    tensor.fill_(3)
    assert tensor.sum() == 3 * PAGE


def test_the_innermost_region_counts_and_ends_with_an_error_too():
    saver = TorchMemorySaver()
    with saver.region("a"), saver.disable(), contextlib.suppress(KeyError), saver.region("b", enable_cpu_backup=True):
        saver.allocate((1,), torch.uint8)
        raise KeyError
    with saver.region("c"):
        saver.allocate((1,), torch.uint8)
    saver.allocate((1,), torch.uint8)
    assert [(one.tag, one.enable_cpu_backup) for one in saver.allocations] == [("b", True), ("c", False)]


def test_backup_bytes_are_those_of_whole_pages():
    saver = TorchMemorySaver()
    with saver.region("a", enable_cpu_backup=True):
        saver.allocate((PAGE + 1,), torch.uint8)
    saver.pause("a")
    assert saver.backup_bytes() == 2 * PAGE
    saver.resume("a")
    assert saver.backup_bytes() == 0


def test_a_graph_computes_on_what_its_tensors_hold_now():
    x, cache = torch.tensor([1.0, 2.0]), torch.zeros(2)
    graph = CpuGraph(torch.zeros)
    out = graph.capture(lambda: cache.copy_(x[:1].expand(2)).mul_(2).sum() + x.view(2, 1).T @ x)
    assert out.tolist() == [9.0]
    x.copy_(torch.tensor([3.0, 0.0]))
    graph.replay()
    assert (out.tolist(), cache.tolist()) == ([21.0], [6.0, 6.0])


def test_a_graph_runs_no_python_again():
    calls, x = [], torch.ones(1)
    graph = CpuGraph(torch.zeros)
    graph.capture(lambda: x * (calls.append(1) or 2))
    graph.replay()
    assert calls == [1]


def test_a_graph_says_that_a_tensor_has_moved():
    x = torch.ones(3)
    graph = CpuGraph(torch.zeros)
    graph.capture(lambda: x + 1)
    x.data = torch.ones(3)
    with pytest.raises(RuntimeError, match="has moved"):
        graph.replay()


def test_graphs_of_a_saver_lie_in_its_region():
    saver, x = TorchMemorySaver(), torch.ones(3)
    backend = FullCudaGraphBackend(saver)
    backend.capture_one(1, lambda: x + 1)
    assert [(one.tag, one.enable_cpu_backup) for one in saver.allocations] == [("cuda_graph", True)]
    saver.pause("cuda_graph")
    saver.resume("cuda_graph")
    x.fill_(5)
    assert (backend.replay(1).tolist(), backend.capture_count, backend.replayed) == ([6.0] * 3, 1, [1])


@pytest.mark.parametrize(("size", "bucket"), [(1, 1), (2, 4), (4, 4), (5, 8)])
def test_the_smallest_bucket_that_holds(size, bucket):
    assert BaseCudaGraphRunner._pad_to_bucket(size, [1, 4, 8]) == bucket


def test_no_bucket_holds_more_than_the_largest():
    with pytest.raises(AssertionError, match="9"):
        BaseCudaGraphRunner._pad_to_bucket(9, [1, 8])


def test_buffers_start_as_padding_and_are_cut_as_views():
    buffers = DecodeInputBuffers.create(4)
    assert (buffers.seq_lens.tolist(), buffers.out_cache_loc.tolist()) == ([1] * 4, [0] * 4)
    head = buffers.head(2)
    assert head.batch_size == 2
    assert head.positions.data_ptr() == buffers.positions.data_ptr()


def test_a_stash_holds_copies_of_all_buffers():
    model = torch.nn.Module()
    model.register_buffer("table", torch.arange(3.0), persistent=False)
    stash, table = weight_updater._export_static_state(model), model.table
    model.table.zero_()
    weight_updater._import_static_state(model, stash)
    assert model.table is table
    assert model.table.tolist() == [0.0, 1.0, 2.0]
