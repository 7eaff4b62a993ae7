"""``twopan rubrics``: the rubrics that come along, and what is in one."""

import click

from twopan.rubric import load, shipped


@click.command()
@click.argument("name", required=False)
def rubrics(name: str | None) -> None:
    """Show the rubrics that come along, or one of them in full.

    \b
    Examples:
      twopan rubrics
      twopan rubrics helpfulness
      twopan rubrics helpfulness > mine.toml      # to copy and edit
    """
    if name is not None:
        load(name)  # an unknown name is an error that lists the known ones
        click.echo(shipped()[name], nl=False)
        return
    for known in shipped():
        rubric = load(known)
        click.echo(f"{known:24}{rubric.version}  {rubric.question}")
