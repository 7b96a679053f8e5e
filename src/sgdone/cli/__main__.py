"""``python -m sgdone.cli`` is ``sgdone``."""

from sgdone.cli import main

main()
