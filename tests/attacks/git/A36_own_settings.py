"""The repository that is graded brings settings, hooks, grafts, replacements and alternates of its own."""

from ground import OPS

EXPECTED = "FAIL"
DEFENDS = "only objects are read; nobody's configuration is"
SAYS = "The holes are not filled yet"


def commits(ground):
    folder = ground.ada.folder
    starter, right = ground.commit({}), ground.commit({OPS: ground.right})
    ground.ada.git("replace", starter, right)
    for name, value in {"core.fsmonitor": "touch pwned", "core.hooksPath": "evil", "core.pager": "touch pwned"}.items():
        ground.ada.git("config", name, value)
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "grafts").write_text(f"{starter} {right}\n")
    (folder / "info" / "attributes").write_text("* filter=x\n")
    yield starter
    assert not list(ground.folder.rglob("pwned"))
