"""The command line: one function a verb. It asks, shows and exits; it decides nothing."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from twopan import __version__
from twopan.errors import BudgetReached, ConfigError, Interrupted, TwopanError
from twopan.names import nearest

VERBS = {
    "gate": "Decide whether a candidate may replace a baseline.",
    "judge": "Judge pairs of responses, one verdict line each.",
    "rank": "Find out which of several systems is better, with few comparisons.",
    "plan": "Say how many items and calls an effect takes, before anything is paid for.",
    "meta-evaluate": "Measure judges against people.",
    "ledger": "Look into the record of all calls and verdicts.",
    "models": "Fetch and keep the embedded judge's weights.",
    "rubrics": "Show the rubrics that come along.",
}

PROMOTE, KEEP, USAGE, UNFINISHED, INCONCLUSIVE, BUDGET, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Verbs(click.Group):
    """Imports a verb only when it is asked for, so that ``--help`` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"twopan.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"no verb {args[0]!r}{nearest(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="twopan")
def twopan() -> None:
    """Weigh every answer in both pans.

    twopan asks language models which of two responses is better, in both orders, and tells you
    what may be concluded from the answers and how far the judge may be believed.

    \b
    Examples:
      twopan models pull
      twopan rank one.jsonl two.jsonl three.jsonl --resolve top1
      twopan plan candidate.jsonl baseline.jsonl
      twopan gate candidate.jsonl baseline.jsonl --report gate.html
      twopan judge pairs.jsonl --judge openai:gpt-4o-mini > verdicts.jsonl

    \b
    Exit status:
      0 promote or pass   1 keep or fail            2 usage or bad input
      3 could not finish  4 inconclusive            5 budget reached
      130 interrupted
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line. Whatever goes wrong is one line and an exit status, never a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Always UTF-8, whatever the locale says; and no output is worth a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        status = twopan.main(args=argv, standalone_mode=False) or 0
    except BaseException as error:
        status = ended(error)
    sys.exit(status)


def ended(error: BaseException) -> int:
    """Say what went wrong, and return the exit status for it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case click.ClickException():
            error.show()
            return USAGE
        case TwopanError():
            complain(str(error))
            return status_of(error)
        case KeyboardInterrupt() | click.Abort():
            complain("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            # Whoever read our output has seen enough. Nothing more can be written, even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return UNFINISHED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            complain(f"{where}{error.strerror or error}")
            return UNFINISHED
        case SystemExit() | click.exceptions.Exit():
            raise error
    if os.environ.get("TWOPAN_DEBUG"):
        raise error
    complain(
        f"a fault of ours: {type(error).__name__}: {error}\n"
        "Set TWOPAN_DEBUG=1 to see where it happened, and please report it."
    )
    return UNFINISHED


def status_of(error: TwopanError) -> int:
    match error:
        case ConfigError():
            return USAGE
        case BudgetReached():
            return BUDGET
        case Interrupted():
            return INTERRUPTED
        case _:
            return UNFINISHED


def complain(message: str) -> None:
    from twopan.report.texts import mask

    # A server may repeat a key in its refusal, ours or another's.
    click.echo(f"twopan: {visible(mask(message))}", err=True)


def visible(text: str) -> str:
    """Text that came from elsewhere, with nothing left in it that would steer a terminal."""
    return "".join(
        c if c in "\n\t" or (c.isprintable() and not "\ud800" <= c <= "\udfff") else ascii(c)[1:-1]
        for c in text
    )
