"""One line of Markdown that would begin a list, a quote, a table, a heading or a rule wherever it stands first."""

EXPECTED = "inert"
DEFENDS = "P13: prose is escaped at its beginning as well"
STRINGS = [
    "# x",
    "1. x",
    "1) x",
    "- x",
    "+ x",
    "* x",
    "> x",
    "===",
    "---",
    "***",
    "| a | b |\n|---|---|",
    "    x",
    "\tx",
    "",
]
