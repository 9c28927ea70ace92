"""Letters that take two columns or none, stacked accents, half of a pair: columns and cuts go wrong over them."""

EXPECTED = "inert"
DEFENDS = "widths are measured in cells; what cannot be written is shown"
STRINGS = ["語" * 300, "e" + "\u0301" * 400, "👩\u200d👩\u200d👧" * 60, "\u3164" * 200, "\u115f\u1160" * 100, "ﷺ" * 200]
