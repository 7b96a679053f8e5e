"""The command line: ``sgdone fit | predict | inspect | diagnose``."""

import sys


def main() -> None:
    """Run the command line; the entry point ``sgdone``."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows another; that is no reason to fail.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    from sgdone.cli.app import app

    app(prog_name="sgdone")
