"""Backticks and tildes that end the fence or the code span they stand in."""

EXPECTED = "inert"
DEFENDS = "P13: a fence is longer than any run inside it: computed, not assumed"
STRINGS = [
    "```\n# out\n```",
    "````\n## ✅ PASS\n```",
    "`" * 60 + "\n<b>out</b>",
    "~~~\n# out\n~~~",
    "`",
    "``x` `",
    "\n".join("`" * n for n in range(1, 40)),
    "    indented\n\t```\n> ```\n- ```",
]
