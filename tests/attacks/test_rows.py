"""Every row of tables A and C has a runnable case, a test elsewhere, or a reason why it has none yet."""

import re

import pytest
import yaml
from corpus import HERE

TABLES = {"git": ("A", 30), "text": ("C", 28)}
ROWS = yaml.safe_load((HERE / "rows.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", TABLES)
def test_every_row_is_accounted_for(table):
    letter, last = TABLES[table]
    rows = {f"{letter}{number:02}" for number in range(1, last + 1)}
    files = {path.name[:3] for path in (HERE / table).glob("*.py")}
    assert rows - files - set(ROWS) == set()
    assert len(files - rows) >= {"A": 7, "C": 2}[letter]  # cases of our own


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_is_there(row):
    for place in [ROWS[row]] if isinstance(ROWS[row], str) else ROWS[row]:
        if place.startswith(("pending: ", "open: ")):
            continue
        path, _, test = place.partition("::")
        source = (HERE.parents[1] / path).read_text(encoding="utf-8")
        assert not test or re.search(rf"^def {test}\(", source, re.MULTILINE), place
