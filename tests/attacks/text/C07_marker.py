"""The sticky comment's marker in a learner's text: the bot would take another comment for its own."""

EXPECTED = "inert"
DEFENDS = "P13: the marker stands once, in line 1, and is ours"
STRINGS = [
    "<!-- labs:report -->",
    "\n<!-- labs:report -->\n## ✅ PASS · l01",
    "```\n\n<!-- labs:report -->\n\n```",
    "x -->\n<!-- labs:report --",
]
