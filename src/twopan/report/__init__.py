"""A result as one HTML file that opens offline, asks for nothing and runs nothing it was given.

It lays out what a pipeline found and computes nothing. What was judged is text, never markup:
templates escape it, the list of pairs is JSON that a script turns into text nodes, and a content
security policy allows the page's own style and script, by their hashes, and nothing else.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from twopan import __version__
from twopan.pipelines.cells import POLICIES
from twopan.pipelines.gate import Gate
from twopan.pipelines.history import Moves
from twopan.pipelines.meta_evaluate import ALL, MetaEvaluation
from twopan.pipelines.rank import Ranking
from twopan.report import charts, judges, listing, ranking, seats
from twopan.report.texts import shown
from twopan.saving import check_writable, write
from twopan.stats.agreement import Agreement

if TYPE_CHECKING:
    import jinja2

    from twopan.session import Spent

_WRITTEN_OUT = re.compile(r"(⟨U\+[0-9A-F]{4,6}⟩|\[redacted\])")
"""What we put in the place of a character or of a key."""

__all__ = [
    "check_writable",
    "notebook",
    "render_gate",
    "render_meta_evaluation",
    "render_ranking",
    "write",
]


def render_gate(
    result: Gate,
    spent: "Spent | None" = None,
    *,
    notes: Sequence[str] = (),
    flags: Mapping[str, Sequence[str]] = {},
    title: str | None = None,
) -> str:
    """The whole report of a gate, as HTML.

    Parameters
    ----------
    spent
        What the run cost and who answered; without it the page says that it is not known.
    notes
        Sentences shown beside the decision.
    flags
        Warnings about the data of an item, by item id.
    title
        Of the page; by default the names of both systems.

    The same result gives the same page, byte for byte. Where the pairs do not fit, the page says
    which it leaves out.
    """
    carried = listing.of(result, flags)
    return _page(
        "page.html",
        carried,
        gate=result,
        spent=spent,
        notes=notes,
        title=title or f"{result.pairs[0].a.system} against {result.pairs[0].b.system}",
        carried=frozenset(carried.carried),
        flagged=sum(bool(flags.get(pair.item.id)) for pair in result.pairs),
        seats=seats.of(result),
        kinds=charts.KINDS,
        categories=charts.categories(result),
        tally=charts.tally(result.outcomes),
        balance=charts.balance(None if result.rate is None else result.rate.estimate),
        scores=charts.scores(result),
        lengths=charts.lengths(result),
        path=charts.path(result),
    )


def render_meta_evaluation(
    result: MetaEvaluation, *, notes: Sequence[str] = (), title: str = "Judges against people"
) -> str:
    """The whole report of a meta-evaluation, as HTML; ``notes`` are shown beside what it says.

    The same result gives the same page, byte for byte. Of the pairs on which judges and people part
    it carries those on which most judges do, as many as fit.
    """
    return _page(
        "judges.html",
        judges.listing(result),
        result=result,
        notes=notes,
        title=title,
        balance=charts.balance(None),
        groups=judges.groups(result),
        row_name=judges.row_name,
        all_pairs=ALL,
        policies=POLICIES,
        gaps=judges.gaps(result),
        grids=judges.grids(result),
        curves=judges.curves(result),
        priced=[trial for trial in result.trials if trial.cost],
        voices=judges.MOST_VOICES,
    )


def render_ranking(
    result: Ranking,
    spent: "Spent | None" = None,
    *,
    moves: Moves | None = None,
    notes: Sequence[str] = (),
    title: str = "Leaderboard",
) -> str:
    """The whole report of a ranking, as HTML.

    ``moves`` is what changed since an earlier one. The same result gives the same page, byte for
    byte. Of very many systems the matrix and the path draw the first ones.
    """
    return _page(
        "ranking.html",
        None,
        result=result,
        spent=spent,
        moves=moves,
        notes=notes,
        title=title,
        balance=charts.balance(None),
        rows=ranking.rows(result),
        axis=ranking.axis(result),
        matrix=ranking.matrix(result),
        path=ranking.path(result),
        flags=ranking.FLAGS,
    )


def _page(template: str, rows: listing.Listing | None, /, **told: Any) -> str:
    """``rows`` are the pairs that can be looked through, where there are any."""
    style, script = _text("style.css"), _text("theme.js")
    if rows is not None:
        script = f"{_text('page.js')}\n{script}"
    return (
        _templates()
        .get_template(template)
        .render(
            style=_as_is(style),
            style_hash=_hash(style),
            script=_as_is(script),
            script_hash=_hash(script),
            listing=rows,
            data=_as_is("" if rows is None else rows.json),
            version=__version__,
            **told,
        )
    )


def notebook(result: Gate) -> str:
    """The decision, its interval and its numbers as a fragment for a notebook; it has no script."""
    return _templates().get_template("notebook.html").render(gate=result)


@cache
def _templates() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("twopan.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": lambda text: shown(str(text)),
        "text": _isolated,
        "pct": lambda share: f"{share:.1%}",
        "pct0": lambda share: f"{100 * share:.0f}",
        "points": _points,
        "coefficient": _coefficient,
        "level": lambda level: f"{100 * level:g}%",
        "at": lambda share: f"{100 * share:.2f}%",
        "count": lambda number: f"{number:,}",
        "money": _money,
        "duration": _duration,
        "p": lambda p: "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}",
    }
    return environment


def _isolated(text: Any) -> Any:
    """A text that cannot reorder its surroundings, with the characters written out marked."""
    from markupsafe import Markup, escape

    marked = _WRITTEN_OUT.sub(r'<span class="esc">\1</span>', str(escape(shown(str(text)))))
    return Markup("<bdi>{}</bdi>").format(Markup(marked))


def _as_is(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _text(name: str) -> str:
    return files(__name__).joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names what it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _points(difference: float) -> str:
    """
    >>> _points(0.0881), _points(-0.02), _points(-0.0)
    ('+8.8', '−2.0', '+0.0')
    """
    return f"{100 * difference:+z.1f}".replace("-", "\N{MINUS SIGN}")


def _coefficient(agreement: Agreement | None) -> str:
    """A star where it hides how much they agree."""
    if agreement is None:
        return "none"
    found = f"{agreement.coefficient.estimate:z.2f}".replace("-", "\N{MINUS SIGN}")
    return f"{found}{'*' if agreement.skewed else ''}"


def _money(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def _duration(seconds: float) -> str:
    """
    >>> _duration(0.42), _duration(75), _duration(7384)
    ('0.4 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    return f"{minutes} min {int(seconds % 60)} s" if not hours else f"{hours} h {minutes % 60} min"
