"""A GitHub of the tests' own: it keeps state, and checks each request against GitHub's description of its API.

What the description does not say but GitHub does (lengths, fifty annotations a request, whose check runs are whose)
is added by hand. `break_next` makes the next matching request fail, before or after it has done its work.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from openapi_core import OpenAPI
from openapi_core.testing import MockRequest

BOT = {"id": 41898282, "login": "github-actions[bot]", "type": "Bot"}
REPO = "mainline/course"
MOST_BODY, MOST_CHECK_TEXT, MOST_ANNOTATIONS, MOST_RELEASE = 65_536, 65_535, 50, 125_000
API = OpenAPI.from_dict(json.loads((Path(__file__).parent / "api.json").read_text()))
ROUTES: list[tuple[str, re.Pattern, Callable]] = []


def route(method: str, pattern: str):
    def keep(handler):
        ROUTES.append((method, re.compile(f"/repos/{REPO}{pattern}"), handler))
        return handler

    return keep


class Refusal(Exception):
    def __init__(self, status: int, message: str):
        self.status, self.message = status, message


@dataclass
class Fault:
    method: str
    path: re.Pattern
    status: int
    headers: dict[str, str]
    body: bytes
    done: bool


@dataclass
class World:
    """The state of one repository. Ids count up from 1, so that a test can name them."""

    pulls: dict[int, dict] = field(default_factory=dict)
    files: dict[int, list[dict]] = field(default_factory=dict)
    commits: dict[int, list[str]] = field(default_factory=dict)
    comments: list[dict] = field(default_factory=list)
    issues: list[dict] = field(default_factory=list)
    labels: dict[int, list[str]] = field(default_factory=dict)
    checks: list[dict] = field(default_factory=list)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    dispatches: list[dict] = field(default_factory=list)
    releases: list[dict] = field(default_factory=list)
    locked: bool = False
    before: list[tuple[re.Pattern, Callable[[], None]]] = field(default_factory=list)

    def pull(self, number: int, head: str, base: str = "lab/l05", author: int = 7, state: str = "open") -> dict:
        self.pulls[number] = {
            "number": number,
            "state": state,
            "head": {"sha": head, "ref": "mine", "repo": None},
            "base": {"ref": base, "sha": "b" * 40},
            "user": {"id": author, "login": f"user{author}"},
        }
        self.commits.setdefault(number, []).append(head)
        return self.pulls[number]

    def stickies(self) -> list[dict]:
        return [one for one in self.comments if one["body"].startswith("<!-- labs:report -->")]

    def checks_of(self, sha: str) -> list[dict]:
        return [one for one in self.checks if one["head_sha"] == sha]


@route("GET", r"/pulls/(\d+)")
def get_pull(world, query, body, number):
    return 200, _found(world.pulls.get(int(number)))


@route("GET", r"/pulls/(\d+)/files")
def get_files(world, query, body, number):
    return 200, world.files.get(int(number), [])


@route("GET", r"/pulls/(\d+)/commits")
def get_commits(world, query, body, number):
    return 200, [{"sha": sha, "url": ""} for sha in world.commits.get(int(number), [])]


@route("GET", r"/issues")
def get_issues(world, query, body):
    by = query.get("creator")
    wanted = [one for one in world.issues if query.get("state") == "all" or one["state"] == "open"]
    return 200, [one for one in reversed(wanted) if by in (None, one["user"]["login"])]


@route("POST", r"/issues")
def create_issue(world, query, body):
    _short(body["body"], MOST_BODY, f"Body is too long (maximum is {MOST_BODY} characters)")
    number = 20 + len(world.issues)
    issue = {"number": number, "state": "open", "user": BOT, "html_url": f"/{REPO}/issues/{number}", **body}
    world.issues.append(issue)
    return 201, issue


@route("PATCH", r"/issues/(\d+)")
def edit_issue(world, query, body, number):
    _short(body.get("body", ""), MOST_BODY, f"Body is too long (maximum is {MOST_BODY} characters)")
    issue = _found(next((one for one in world.issues if one["number"] == int(number)), None))
    issue.update(body)
    return 200, issue


@route("GET", r"/issues/(\d+)/comments")
def get_comments(world, query, body, number):
    return 200, [one for one in world.comments if one["issue"] == int(number)]


@route("POST", r"/issues/(\d+)/comments")
def create_comment(world, query, body, number):
    _short(body["body"], MOST_BODY, f"Body is too long (maximum is {MOST_BODY} characters)")
    if world.locked:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    comment = {"id": 100 + len(world.comments), "user": BOT, "issue": int(number), **body}
    world.comments.append(comment)
    return 201, comment


@route("PATCH", r"/issues/comments/(\d+)")
def edit_comment(world, query, body, comment):
    _short(body["body"], MOST_BODY, f"Body is too long (maximum is {MOST_BODY} characters)")
    found = _found(next((one for one in world.comments if one["id"] == int(comment)), None))
    found.update(body)
    return 200, found


@route("DELETE", r"/issues/comments/(\d+)")
def delete_comment(world, query, body, comment):
    world.comments.remove(_found(next((one for one in world.comments if one["id"] == int(comment)), None)))
    return 204, None


@route("POST", r"/issues/comments/(\d+)/reactions")
def react(world, query, body, comment):
    if (int(comment), body["content"]) not in world.reactions:  # the same reaction twice is one
        world.reactions.append((int(comment), body["content"]))
    return 201, {"id": 1, "content": body["content"]}


@route("GET", r"/issues/(\d+)/labels")
def get_labels(world, query, body, number):
    return 200, [{"name": name} for name in world.labels.get(int(number), [])]


@route("POST", r"/issues/(\d+)/labels")
def add_labels(world, query, body, number):
    names = body if isinstance(body, list) else body["labels"]
    there = world.labels.setdefault(int(number), [])
    there += [name for name in names if name not in there]
    return 200, [{"name": name} for name in there]


@route("DELETE", r"/issues/(\d+)/labels/([^/]+)")
def drop_label(world, query, body, number, name):
    there = world.labels.get(int(number), [])
    if name not in there:
        raise Refusal(404, "Label does not exist")
    there.remove(name)
    return 200, [{"name": name} for name in there]


@route("POST", r"/check-runs")
def create_check(world, query, body):
    if body["status"] == "completed" and "conclusion" not in body:
        raise Refusal(422, "conclusion is required when the status is completed")
    check = {"id": 1 + len(world.checks), "app": {"id": 15368, "slug": "github-actions"}, "annotations": []}
    check["url"] = f"/repos/{REPO}/check-runs/{check['id']}"
    world.checks.append(check)
    _output(check, body)
    return 201, check


@route("PATCH", r"/check-runs/(\d+)")
def edit_check(world, query, body, number):
    check = _found(next((one for one in world.checks if one["id"] == int(number)), None))
    _output(check, body)
    return 200, check


def _output(check: dict, body: dict) -> None:
    """What GitHub limits in a check run; an update's annotations are added to those that are there."""
    output = body.get("output", {})
    for part in ("summary", "text"):
        size = len(output.get(part, ""))
        _short(output.get(part, ""), MOST_CHECK_TEXT, f"Only {MOST_CHECK_TEXT} characters are allowed; {size} given")
    more = output.pop("annotations", [])
    if len(more) > MOST_ANNOTATIONS:
        raise Refusal(422, "No more than 50 annotations in a request")
    check["annotations"] += more
    check.update(body)


@route("GET", r"/commits/([0-9a-f]+)/check-runs")
def list_checks(world, query, body, sha):
    found = [one for one in world.checks_of(sha) if query.get("check_name") in (None, one["name"])]
    return 200, {"total_count": len(found), "check_runs": found}


@route("GET", r"/collaborators/([^/]+)/permission")
def permission(world, query, body, login):
    return 200, {"permission": world.permissions.get(login, "read"), "role_name": "", "user": None}


@route("POST", r"/actions/workflows/([^/]+)/dispatches")
def dispatch(world, query, body, workflow):
    world.dispatches.append({"workflow": workflow, **body})
    return 204, None


@route("GET", r"/releases/tags/([^/]+)")
def get_release(world, query, body, tag):
    return 200, _found(next((one for one in world.releases if one["tag_name"] == tag), None))


@route("POST", r"/releases")
def create_release(world, query, body):
    _short(body["body"], MOST_RELEASE, f"body is too long (maximum is {MOST_RELEASE} characters)")
    if any(one["tag_name"] == body["tag_name"] for one in world.releases):
        raise Refusal(422, "Validation Failed: already_exists")
    number = 1 + len(world.releases)
    page = f"https://github.com/{REPO}/releases/tag/{body['tag_name']}"
    world.releases.append({"id": number, "url": f"/repos/{REPO}/releases/{number}", "html_url": page, **body})
    return 201, world.releases[-1]


def _found(value):
    if value is None:
        raise Refusal(404, "Not Found")
    return value


def _short(text: str, most: int, message: str) -> None:
    if len(text) > most:
        raise Refusal(422, message)


class GitHub:
    """The server, on a port of its own; `requests` is what was asked, as (method, path)."""

    def __init__(self):
        self.world = World()
        self.requests: list[tuple[str, str]] = []
        self.invalid: list[str] = []
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def break_next(
        self, method: str, path: str, status: int, headers=None, body=b"<html>", done=False, times=1
    ) -> None:
        """Fail the next `times` requests to `path` (a regular expression); `done`: after having carried them out."""
        self.faults += [Fault(method, re.compile(path), status, headers or {}, body, done)] * times

    def answer(self, method: str, target: str, content: bytes) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            path = unquote(urlsplit(target).path)
            self.requests.append((method, path))
            for pattern, act in [one for one in self.world.before if one[0].search(f"{method} {path}")]:
                self.world.before.remove((pattern, act))
                act()
            fault = next((one for one in self.faults if one.method == method and one.path.search(path)), None)
            if fault:
                self.faults.remove(fault)
                if not fault.done:
                    return fault.status, fault.headers, fault.body
            asked = urlsplit(target)
            status, answer = self._carry_out(method, asked.path, dict(parse_qsl(asked.query)), content)
            if fault:
                return fault.status, fault.headers, fault.body
            return status, {"Content-Type": "application/json"}, b"" if answer is None else json.dumps(answer).encode()

    def _carry_out(self, method: str, path: str, query: dict, content: bytes) -> tuple[int, object]:
        try:
            self._validate(method, path, query, content)
            for wanted, pattern, handler in ROUTES:
                if wanted == method and (match := pattern.fullmatch(path)):
                    return handler(self.world, query, json.loads(content or b"null"), *map(unquote, match.groups()))
            raise Refusal(404, f"Not Found: {method} {path}")
        except Refusal as refusal:
            return refusal.status, {"message": refusal.message}

    def _validate(self, method: str, path: str, query: dict, content: bytes) -> None:
        bare = method == "POST" and path.endswith("/labels") and content.startswith(b"[")
        content = json.dumps({"labels": json.loads(content)}).encode() if bare else content  # GitHub takes both forms
        kind = {"data": content, "content_type": "application/json"} if content else {}
        try:
            API.validate_request(MockRequest(self.url, method.lower(), path, args=query, **kind))
        except Exception as error:
            self.invalid.append(f"{method} {path}: {error} {error.__cause__ or ''}")
            raise Refusal(422, self.invalid[-1]) from None

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, body = server.answer(self.command, self.path, content)
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *arguments):
                pass

        return Handler
