"""The options that every judging verb shares, and what they add up to."""

import functools
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from twopan.client import Budget
from twopan.datasets import OnBad
from twopan.errors import ConfigError
from twopan.judge import Settings
from twopan.judges import Spec, from_config
from twopan.names import nearest
from twopan.prompts import Prompts
from twopan.rubric import Rubric
from twopan.rubric import load as load_rubric

N = TypeVar("N", int, float)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for, as given; the properties make of it what the pipelines take."""

    judge: tuple[str, ...]
    key_env: str | None
    protocol: str | None
    rubric: str | None
    prompts: Path | None
    temperature: float
    max_tokens: int | None
    samples: int
    map: tuple[str, ...]
    skip_bad_rows: bool
    limit: int | None
    seed: int | None
    ledger: Path | None
    offline: bool
    concurrency: int | None
    timeout: float | None
    deadline: float | None
    budget: str | None
    dry_run: bool
    verdicts: Path | None
    report: Path | None
    json: str | None
    config: Path | None
    judges: Mapping[str, Any]

    @property
    def specs(self) -> list[Spec]:
        return [self._spec(name) for name in self.judge]

    def _spec(self, name: str) -> Spec:
        from dataclasses import replace

        if name in self.judges:
            return from_config(name, self.judges[name])
        try:
            spec = Spec.parse(name)
        except ConfigError as error:
            hint = nearest(name, self.judges)
            raise ConfigError(f"{error}{hint}" if hint else str(error)) from None
        return replace(spec, key_env=self.key_env) if self.key_env else spec

    @property
    def settings(self) -> Settings:
        if self.samples > 1 and self.temperature == 0:
            raise ConfigError("--samples draws the same reply each time without --temperature")
        return Settings(
            temperature=self.temperature, max_tokens=self.max_tokens, samples=self.samples
        )

    @property
    def the_rubric(self) -> Rubric | None:
        return None if self.rubric is None else load_rubric(self.rubric)

    @property
    def the_prompts(self) -> Prompts:
        return Prompts(self.prompts)

    @property
    def the_budget(self) -> Budget:
        return parse_budget(self.budget)

    @property
    def mapping(self) -> dict[str, str]:
        pairs = [entry.partition("=") for entry in self.map]
        for field, equals, column in pairs:
            if not (field and equals and column):
                raise ConfigError(f"--map {field}: write --map FIELD=COLUMN")
        return {field: column for field, _, column in pairs}

    @property
    def on_bad(self) -> OnBad:
        return "skip" if self.skip_bad_rows else "refuse"

    @property
    def record(self) -> dict[str, Any]:
        """All of it as plain values, for the ledger. There are no secrets among them."""
        from dataclasses import asdict

        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in asdict(self).items()
        }


def parse_budget(text: str | None) -> Budget:
    """``500calls`` or ``2.50`` (US dollars)."""
    if text is None:
        return Budget()
    number = text.strip().lower().removesuffix("calls").strip().removeprefix("$")
    try:
        if text.strip().lower().endswith("calls"):
            return Budget(calls=_positive(int(number)))
        return Budget(usd=_positive(float(number)))
    except ValueError:
        raise ConfigError(
            f"--budget {text}: write an amount in US dollars, such as 2.50, or a number of"
            " calls, such as 500calls"
        ) from None


def _positive(number: N) -> N:
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def read_config(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Make a config file's entries the defaults of the options they are named after."""
    ctx.meta["twopan.judges"] = {}
    if path is None:
        return None
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"--config {path}: not a TOML file: {error}") from None
    ctx.meta["twopan.judges"] = table.pop("judges", {})
    options = {p.name: p for p in ctx.command.params if isinstance(p, click.Option) and p.name}
    defaults: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in options or name == "config":
            raise ConfigError(
                f"--config {path}: unknown entry {key!r}{nearest(name, options)}; it takes"
                f" [judges] and the options of `twopan {ctx.info_name}`"
            )
        if name == "map" and isinstance(value, dict):
            defaults[name] = [f"{field}={column}" for field, column in value.items()]
        elif isinstance(options[name].type, click.Path | click.types.StringParamType) and not all(
            isinstance(one, str) for one in (value if isinstance(value, list) else [value])
        ):
            raise ConfigError(f"--config {path}: {key} must be text, in quotes")
        elif options[name].multiple and not isinstance(value, list):
            defaults[name] = [value]
        else:
            defaults[name] = value
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    return path


class Number(click.FloatRange):
    """A number in a range, and a finite one: NaN is in no range, though no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


PATH = click.Path(path_type=Path)


def judging(*, without: Sequence[str] = ()) -> Callable[..., Any]:
    """Give a verb the options of all verbs that judge, gathered into one ``options`` argument."""

    def give(command: click.Command | Callable[..., Any]) -> Callable[..., Any]:
        gathered = _judging(command)
        params: list[click.Option] = gathered.__click_params__  # type: ignore[attr-defined]
        params[:] = [option for option in params if option.name not in without]
        return gathered

    return give


def _judging(command: Callable[..., Any]) -> Callable[..., Any]:

    @click.option(
        "--judge",
        multiple=True,
        default=["local"],
        metavar="SPEC",
        show_default=True,
        help="local, local:NAME, local:PATH.gguf, openai:MODEL, openai:MODEL@BASE_URL, or"
        " a name from the config file. Repeat it for a jury.",
    )
    @click.option(
        "--key-env",
        metavar="NAME",
        help="Environment variable that holds the API key (default OPENAI_API_KEY, and"
        " that only for OpenAI itself).",
    )
    @click.option(
        "--protocol",
        metavar="NAME",
        help="How the judge is asked (default pairwise; likelihood for the embedded judge, or"
        " pairwise+odds with --rubric or --prompts): pairwise, pairwise-cot, prepair,"
        " prepair-star, pointwise, pointwise-direct, likelihood, nway, prometheus,"
        " prometheus-pair, prometheus-prepair; with +metrics, +reference, +tie, +graded,"
        " +norules, +odds or +likelihood.",
    )
    @click.option(
        "--rubric",
        metavar="NAME|FILE.toml",
        help="What the judge is asked (default helpfulness). `twopan rubrics` lists those that"
        " come along.",
    )
    @click.option(
        "--prompts",
        type=PATH,
        metavar="DIR",
        help="Directory of prompt files that replace ours of the same name.",
    )
    @click.option("--temperature", type=Number(0, 2), default=0.0, show_default=True)
    @click.option(
        "--max-tokens",
        type=click.IntRange(1),
        metavar="N",
        help="Most tokens of one reply. Models that think before they answer need thousands.",
    )
    @click.option(
        "--samples",
        type=click.IntRange(1),
        default=1,
        metavar="N",
        help="Ask a pointwise judge N times and take the mean; needs a --temperature.",
    )
    @click.option(
        "--map",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Where to find a field that is not recognised, such as"
        " --map instruction=question_text.",
    )
    @click.option(
        "--skip-bad-rows",
        is_flag=True,
        help="List rows that cannot be read and go on, instead of stopping.",
    )
    @click.option(
        "--limit",
        type=click.IntRange(1),
        metavar="N",
        help="Judge only N pairs: the first, or with --seed a random sample.",
    )
    @click.option(
        "--seed",
        type=int,
        metavar="N",
        help="Draw at random what is drawn, the same each time: the --limit, the order.",
    )
    @click.option(
        "--ledger",
        type=PATH,
        envvar="TWOPAN_LEDGER",
        metavar="FILE",
        help="Where calls and verdicts are kept (default: one file for all your runs).",
    )
    @click.option("--offline", is_flag=True, help="Answer from the ledger alone; call nobody.")
    @click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Calls under way at once (default 16; 1 for the embedded judge).",
    )
    @click.option(
        "--timeout",
        type=Number(0, min_open=True),
        metavar="SECONDS",
        help="For one attempt at a call (default 120).",
    )
    @click.option(
        "--deadline",
        type=Number(0, min_open=True),
        metavar="SECONDS",
        help="For the whole run; it then stops like a budget does.",
    )
    @click.option(
        "--budget",
        metavar="AMOUNT",
        help="Stop after so many US dollars (2.50) or calls (500calls). Run the same"
        " command again to go on.",
    )
    @click.option(
        "--dry-run", is_flag=True, help="Say how many calls, tokens and what cost, and call nobody."
    )
    @click.option(
        "--verdicts",
        type=PATH,
        metavar="FILE",
        help="Use recorded verdict lines instead of asking a judge.",
    )
    @click.option("--report", type=PATH, metavar="PATH.html", help="Write an HTML report.")
    @click.option("--json", metavar="PATH|-", help="Write the result as JSON.")
    @click.option(
        "--config",
        type=PATH,
        is_eager=True,
        callback=read_config,
        metavar="FILE.toml",
        help="Defaults for these options, and [judges].",
    )
    @click.pass_context
    @functools.wraps(command)
    def gathered(ctx: click.Context, /, **values: Any) -> Any:
        known = Options.__dataclass_fields__
        shared = {name: values.pop(name, None) for name in known if name != "judges"}
        options = Options(**shared, judges=ctx.meta["twopan.judges"])
        return command(options=options, **values)

    return gathered
