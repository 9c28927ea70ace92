"""Defines what pytest would look for, had it ever imported this file.

lint: FAIL
wall: FAIL
defends: P1 P9
"""

pytest_plugins = ["does_not_exist"]


def pytest_runtest_makereport(item, call):
    return None


def pytest_collection_modifyitems(items):
    items.clear()


def test_gather_seq_flag():
    """Passes."""


def _hole(grad_output, ctx):
    return torch.zeros_like(_right(grad_output, ctx))
