"""A GitHub for each test, a client for it, and the synthetic course's first lab with one open pull request."""

import pytest
from fake_github import REPO, GitHub
from github_examples import HEAD

from grading.delivery.github.forge import Forge


@pytest.fixture
def github():
    server = GitHub()
    yield server
    server.close()
    assert server.invalid == []  # whatever the test was about: we never ask what GitHub does not describe


@pytest.fixture
def forge(github) -> Forge:
    return Forge(REPO, "token", github.url, backoff_s=0.0)


@pytest.fixture
def lab(tiny):
    return tiny.lab("l01")


@pytest.fixture
def pull(github, forge):
    """Pull request 7 of user 7 for l01, open, at HEAD."""
    github.world.pull(7, HEAD, base="lab/l01")
    return forge.pull(7)
