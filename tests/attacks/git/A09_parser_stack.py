"""Source that a parser dies of: brackets, signs, sums, attributes, lambdas and branches by the ten thousand."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "parsing happens in a child with limits; its death is no answer"
SAYS = "nested too deeply"


def commits(ground):
    deep = [
        b"x = " + b"(" * 120_000 + b")" * 120_000,
        b"x = " + b"-" * 200_000 + b"1",
        b"x = 1" + b"+1" * 100_000,
        b"x = a" + b".b" * 80_000,
        b"x = " + b"lambda: " * 20_000 + b"1",
        b"if x: pass\n" + b"elif x: pass\n" * 15_000,
    ]
    for source in deep:
        yield ground.commit({OPS: ground.right + source + b"\n"})
