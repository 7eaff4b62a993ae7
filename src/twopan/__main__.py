"""``python -m twopan`` is ``twopan``."""

from twopan.cli import main

main()
