"""`labs`: the commands, and what becomes of an error: one line and exit code 4."""

import os
import sys

# pydantic looks for plugins in the metadata of every installed package: a tenth of the time to start
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

import typer

from grading.cli import browse, check, github, hub, maintain, snapshots, watch, work

USAGE = 4
app = typer.Typer(
    name="labs",
    help="Patch labs: write the patch, push it, read the verdict. Example: labs start l05",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (browse, work, watch, check, maintain):
    group.add_to(app)
app.add_typer(hub.app, name="hub", rich_help_panel=None)
app.add_typer(snapshots.app, name="snapshots", rich_help_panel=None)
app.add_typer(github.app, name="github", rich_help_panel=None)


def main() -> None:
    """The entry point. 0 PASS or ok, 1 FAIL or TIMEOUT, 2 REFUSED or TAMPER, 3 INFRA, 4 usage."""
    try:
        code = app(prog_name="labs", standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        code = _explained(error)
        if code is None:
            raise
    sys.exit(code if isinstance(code, int) else 0)


def _explained(error: Exception) -> int | None:
    """Tell an error of the user's in one red line; None for an error of ours, which keeps its traceback."""
    if type(error).__name__ == "Abort":
        return 130
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return USAGE
    if hasattr(error, "format_message"):  # click's own: an unknown option, a missing argument
        return _say(error.format_message())
    from grading.cli.common import user_line

    line = user_line(error)
    return _say(line) if line else None


def _say(line: str) -> int:
    red, plain = ("\033[31m", "\033[0m") if sys.stderr.isatty() else ("", "")
    print(f"{red}labs: {' '.join(line.split())}{plain}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    main()
