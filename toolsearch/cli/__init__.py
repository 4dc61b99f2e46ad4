"""The command line: each command parses, calls down and prints, nothing else."""

from toolsearch.cli.app import app, main

__all__ = ["app", "main"]
