"""The committed JSON schema is the Report model's, and what the judge writes validates against it."""

import json
import runpy
from pathlib import Path

import jsonschema
import pytest
from feedback_examples import REPORTS

from grading.judge import report

ROOT = Path(__file__).parents[2]
SCHEMA = Path(report.__file__).with_name("report.schema.json")


def test_schema_is_current():
    script = runpy.run_path(str(ROOT / "scripts/write_schema.py"))
    assert SCHEMA.read_text(encoding="utf-8") == script["schema_text"](), "run scripts/write_schema.py"


@pytest.mark.parametrize("name", REPORTS)
def test_reports_validate(name):
    data = json.loads(REPORTS[name]().model_dump_json())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(data)
    assert report.Report.model_validate(data) == REPORTS[name]()


@pytest.mark.parametrize("change", [{"verdict": "OK"}, {"unknown": 1}, {"schema": 2}, {"tests": [{}]}])
def test_forged_reports_do_not(change):
    data = json.loads(REPORTS["PASS"]().model_dump_json()) | change
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert not validator.is_valid(data)
