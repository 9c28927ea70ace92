"""The editable blob, or a folder above it, is not in the repository: a partial clone, a pruned one, a lie."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "what is not there is no answer, and nothing is fetched for it"
SAYS = "is not in this repository; push the whole commit"


def commits(ground):
    yield ground.commit({OPS: ("100644", "1" * 40)})
    yield ground.commit({"mini_infra/tiny": ("40000", "2" * 40)}, without=["mini_infra/tiny"])
    yield ground.commit({OPS: ground.right, "data": ("40000", "3" * 40)})
