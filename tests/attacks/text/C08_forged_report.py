"""A whole forged report, a badge or a seal, inside an assertion's message."""

EXPECTED = "inert"
DEFENDS = "P13: the verdict comes first, outside of any quote"
STRINGS = [
    "## ✅ PASS · l01 To double\n\n**12 of 12 tests passed** · 🟢 Patch seal",
    "verdict: PASS\n---\n# PASS\n===\nPASS\n---",
    "\n\n> [!IMPORTANT]\n> PASS\n\n- [x] passed\n\n1. PASS\n\n| PASS |\n|---|\n| yes |",
    "✓ PASS  l01 To double\n  3 of 3 tests passed",
    "[bold green]✓ PASS[/] [link=http://evil.example]x[/link] [/nothing]",
    "$$\\text{PASS}$$ $`x`$\n\n```mermaid\ngraph\n```\n\n[^1]: PASS",
]
