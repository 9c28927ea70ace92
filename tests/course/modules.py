"""Generated modules for the tests of holes: everything that may stand around and inside a definition."""

from hypothesis import strategies as st

WORDS = ["x = 1", "s = 'é\u2028ü'", "t = 'ß'; u = 2", "# a comment: ünïcode @ here", "", "\x0c", "call(1)"]
LONG_STRING = ['text = """', "def fake(self):", "    # not a comment", '"""']
DECORATORS = ["@wrap", "@wrap('é', key={'a': 1})", "@(wrap)", "@(  # why: @this\n{i}wrap\n{i})", "@wrap  # ä: b"]
ARGUMENTS = ["", "a", "a, /, b=lambda: {1: 2}, *c", "*, k: dict[str, int] = {'é': 1}", "a,  # b: c\n{i}  b=':',\n{i}"]
RETURNS = ["", " -> int", " -> 'é: x'", " -> (lambda: 0)", " -> lambda: 0"]
DOCSTRINGS = ['"""Does é."""', '"""Two\n\n  lines: é.\n"""', "'d'  # said: so", '"""d"""; y = 1', "r'''raw\\n'''"]
ENDINGS = ["", "  # secret: é", ";", "; z = 3  # and"]
INDENTS = ["    ", "\t", "  "]


class Writer:
    """Draws one module line by line; names are never repeated, but where a construct is about repeating."""

    def __init__(self, draw):
        self.draw = draw
        self.count = 0
        self.step = draw(st.sampled_from(INDENTS))

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def name(self) -> str:
        self.count += 1
        return f"{self.pick('f', 'é', 'Name')}{self.count}"

    def block(self, indent: str, depth: int) -> list[str]:
        lines = [line for _ in range(self.pick(0, 1, 2)) for line in self.item(indent, depth)]
        return [*lines, *self.plain(indent)]

    def plain(self, indent: str) -> list[str]:
        """A statement, perhaps with a comment or a blank line before it: never nothing."""
        before = [self.pick("", indent + "# before: é")] if self.chance() else []
        if self.pick(1, 2, 3, 4) == 1:
            return [*before, indent + LONG_STRING[0], *LONG_STRING[1:]]
        return [*before, indent + self.pick("x = 1", "s = 'é\u2028ü'", "call(2)", "pass")]

    def item(self, indent: str, depth: int) -> list[str]:
        kinds = ["word", "function", "property", "overload", "class", "if"] if depth else ["word", "one line"]
        kind = self.pick(*kinds)
        if kind == "word":
            word = self.pick(*WORDS)
            return [indent + word if word.strip() else word]
        if kind == "one line":
            return [f"{indent}{self.pick('def', 'async def')} {self.name()}(x): {self.pick('pass', 'return x')}"]
        if kind == "if":
            return [f"{indent}if x:", *self.block(indent + self.step, depth - 1)]
        return getattr(self, kind.replace("class", "klass"))(indent, depth)

    def klass(self, indent: str, depth: int) -> list[str]:
        header = f"{indent}class {self.name()}{self.pick('', '()', '(Base, meta=é)')}:"
        if self.chance():
            return [header + self.pick(" pass", " x = 1; y = 2", " ...  # é")]
        return [*self.decorators(indent), header, *self.docstring(indent + self.step), *self.body(indent, depth)]

    def function(self, indent: str, depth: int, name: str = "") -> list[str]:
        arguments = self.pick(*ARGUMENTS).replace("{i}", indent) if not name else "self, v=None"
        header = f"{indent}{self.pick('def', 'async def')} {name or self.name()}({arguments}){self.pick(*RETURNS)}:"
        if self.chance():
            header += self.pick(" return 1", " 'doc'", " 'doc'; return 2", " \\\n  return 3", " pass")
            return [*self.decorators(indent), header + self.pick(*ENDINGS)]
        header += self.pick("", "  # type: ignore")
        docstring = self.docstring(indent + self.step) if self.chance() else []
        if docstring and self.chance():
            return [*self.decorators(indent), header, *docstring]
        return [*self.decorators(indent), header, *docstring, *self.body(indent, depth)]

    def property(self, indent: str, depth: int) -> list[str]:
        name = self.name()
        getter = [f"{indent}@property", *self.plain_function(indent, name)]
        return [*getter, f"{indent}@{name}.setter", *self.plain_function(indent, name)]

    def overload(self, indent: str, depth: int) -> list[str]:
        name = self.name()
        stubs = [f"{indent}@{self.pick('overload', 'typing.overload')}", f"{indent}def {name}(a: int): ..."] * 2
        return [*stubs, *self.plain_function(indent, name)]

    def plain_function(self, indent: str, name: str) -> list[str]:
        return [f"{indent}def {name}(self, v=None):", *self.body(indent, 0)]

    def decorators(self, indent: str) -> list[str]:
        return [indent + self.pick(*DECORATORS).replace("{i}", indent) for _ in range(self.pick(0, 0, 1, 2))]

    def docstring(self, indent: str) -> list[str]:
        return [indent + self.pick(*DOCSTRINGS)]

    def body(self, indent: str, depth: int) -> list[str]:
        inner = indent + self.step
        lines = self.block(inner, max(depth - 1, 0))
        lines[-1] += self.pick(*ENDINGS) if lines[-1] != LONG_STRING[-1] else ""
        return lines + ([inner + "# behind: é", ""] if self.chance() else [])


@st.composite
def modules(draw) -> str:
    writer = Writer(draw)
    lines = [line for _ in range(draw(st.integers(1, 4))) for line in writer.item("", 2)]
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = "\n".join(lines).replace("\n", newline)
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", newline]))
