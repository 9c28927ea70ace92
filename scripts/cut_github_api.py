"""Cut GitHub's OpenAPI description down to the requests that we make, without its prose.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-*.tgz
    python scripts/cut_github_api.py package/generated/api.github.com.deref.json

The result holds the interface alone (paths, parameters, bodies): the tests' GitHub checks each request against it.
"""

import json
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "tests/delivery/github/api.json"
PROSE = {"description", "summary", "example", "examples", "externalDocs", "title", "tags", "operationId"}
REPO = "/repos/{owner}/{repo}"
KEPT = {
    f"{REPO}/pulls/{{pull_number}}": ["get"],
    f"{REPO}/pulls/{{pull_number}}/files": ["get"],
    f"{REPO}/pulls/{{pull_number}}/commits": ["get"],
    f"{REPO}/issues": ["get", "post"],
    f"{REPO}/issues/{{issue_number}}": ["patch"],
    f"{REPO}/issues/{{issue_number}}/comments": ["get", "post"],
    f"{REPO}/issues/comments/{{comment_id}}": ["get", "patch", "delete"],
    f"{REPO}/issues/comments/{{comment_id}}/reactions": ["post"],
    f"{REPO}/issues/{{issue_number}}/labels": ["get", "post"],
    f"{REPO}/issues/{{issue_number}}/labels/{{name}}": ["delete"],
    f"{REPO}/check-runs": ["post"],
    f"{REPO}/check-runs/{{check_run_id}}": ["get", "patch"],
    f"{REPO}/commits/{{ref}}/check-runs": ["get"],
    f"{REPO}/collaborators/{{username}}/permission": ["get"],
    f"{REPO}/actions/workflows/{{workflow_id}}/dispatches": ["post"],
    f"{REPO}/releases": ["post"],
    f"{REPO}/releases/tags/{{tag}}": ["get"],
}


def bare(value, named: bool = False):
    """`value` without prose. Below `properties` every key is a name, not a keyword."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: one for key, one in value.items() if named or (key not in PROSE and not key.startswith("x-"))}
    return {key: bare(one, key == "properties" and not named) for key, one in kept.items()}


def operation(given: dict) -> dict:
    kept = {key: bare(given[key]) for key in ("parameters", "requestBody") if key in given}
    return kept | {"responses": {"default": {"description": ""}}}


def main(source: str) -> None:
    api = json.loads(Path(source).read_text())
    cut = {
        "openapi": api["openapi"],
        "info": {
            "title": "The requests of GitHub's REST API that Mainline makes",
            "version": api["info"]["version"],
            "license": {"name": "MIT", "url": "https://github.com/octokit/openapi/blob/main/LICENSE"},
        },
        "paths": {path: {method: operation(api["paths"][path][method]) for method in KEPT[path]} for path in KEPT},
    }
    TARGET.write_text(json.dumps(cut, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
