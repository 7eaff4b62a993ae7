"""Write cli.md: the help texts of every verb, as the program prints them.

python docs/make_cli.py
"""

from collections.abc import Iterator
from pathlib import Path

import click

from twopan.cli import twopan

HEAD = """# The command line

This page is made of the program's own help texts, by `make docs`; a test keeps it true.

Results go to standard output, everything else to standard error. Every option of a judging verb may
also stand in a TOML file given with `--config`, under its own name without the dashes, where judges
with an address, a key or a price get a table of their own:

```toml
judge = ["strong"]
rubric = "faithfulness"
threshold = 0.55

[judges.strong]
provider = "openai"
model = "gpt-4o-mini"
key_env = "MY_KEY"                 # the name of the variable that holds the key, never the key
price = { input = 0.15, cached_input = 0.075, output = 0.60 }    # US dollars a million tokens
concurrency = 8

[judges.house]
provider = "openai"
model = "qwen2.5-72b"
base_url = "http://127.0.0.1:8000/v1"
```

`--prompts DIR` puts words of your own in the place of ours. A file there takes the place of the
shipped prompt of the same name ([src/twopan/prompts/](../src/twopan/prompts/)), `pairwise.md` for
instance. It holds a system message, a line `---` and a user message, with the placeholders of the
original: `{{ response_a }}` is data and is fenced, `{{ reference? }}` is left out where there is
none, `{{= question }}` is the rubric's. A placeholder that is missing or unknown is an error before
any call, and the hash of the prompt is part of the judge's signature.
"""


def sections(command: click.Command, words: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command, info_name=words.rsplit(maxsplit=1)[-1], parent=parent, terminal_width=88
    )
    yield f"## {words}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from sections(inner, f"{words} {name}", context)


def page() -> str:
    return "\n".join([HEAD, *sections(twopan, "twopan", None)])


if __name__ == "__main__":
    (Path(__file__).parent / "cli.md").write_text(page(), encoding="utf-8")
