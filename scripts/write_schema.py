"""Write grading/judge/report.schema.json from the Report model: what a reader of a report artifact checks first."""

import json
from pathlib import Path

from grading.judge import report

TARGET = Path(report.__file__).with_name("report.schema.json")


def schema_text() -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **report.Report.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(schema_text(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
