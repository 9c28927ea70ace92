"""Escapes that clear the screen, write links, paste, overwrite the line, ring, or turn the writing's direction."""

EXPECTED = "inert"
DEFENDS = "P13: control and format characters are shown as \\x1b, \\u202e, …"
STRINGS = [
    "\x1b[2J\x1b[H✓ PASS",
    "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "\x1b]52;c;cm0gLXJmIC8=\x07 \x1bP+q\x1b\\ \x1b]0;title\x07",
    "FAIL\rPASS",
    "FAIL\b\b\b\bPASS",
    "\x07\x00\x0b\x0c\x0e\x7f",
    "\x9b2J\x90q\x9c\x85",
    "\u202eSSAP\u202c \u2066x\u2069 \u200f \u061c",
    "a\u2028b\u2029c \ufeff \u00ad \U000e0041",
]
