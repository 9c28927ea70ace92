"""Table C: text that acts where it is shown. Each string stands in every field of a report, or comes by a hub."""

import pytest
from corpus import cases, nothing_left
from ground import Ground
from surfaces import everywhere, on_terminal

CASE_S = 300.0  # a hang is told from a busy machine
GIT_LINE = 400  # cells; git prints names whole


@pytest.mark.parametrize("case", cases("text"))
def test_text_is_inert(case, judge, temporary, tmp_path):
    with nothing_left(temporary, CASE_S):
        found = [line for text in getattr(case, "STRINGS", []) for line in everywhere(text, getattr(case, "TESTS", 3))]
        if hasattr(case, "streams"):
            ground = Ground(tmp_path, judge)
            for said in case.streams(ground):
                assert "Traceback" not in said
                found += on_terminal(said, GIT_LINE)
            ground.assert_sound()
        assert (found or case.EXPECTED) == "inert"
