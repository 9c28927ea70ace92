"""Sixty failures with ten kilobytes each, in letters of one, three and four bytes."""

EXPECTED = "inert"
DEFENDS = "P13: cut by whole sections, measured in bytes; the cut is said"
TESTS = 60
STRINGS = ["x" * 10_000, "👩‍👩‍👧" * 3_000, "<" * 10_000]
