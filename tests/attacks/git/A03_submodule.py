"""The editable file or a folder above it is a submodule whose address runs a command."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "no checkout, no submodule, no fetch"
SAYS = "is a submodule; links are never followed"


def commits(ground):
    for path in (OPS, "mini_infra/tiny", "mini_infra"):
        for url in ("ext::sh -c touch% pwned", "--upload-pack=touch pwned"):
            modules = f'[submodule "x"]\n\tpath = {path}\n\turl = {url}\n'.encode()
            yield ground.commit({path: ("160000", "1" * 40), ".gitmodules": modules}, without=[path])
    assert not list(ground.folder.rglob("pwned"))
