"""Lines of Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.results import REFERENCE
from toolsearch.tools import JsonObject


def prose(text: str) -> Iterator[str]:
    """A paragraph, wrapped, and the empty line after it."""
    yield from textwrap.wrap(text, width=110, break_long_words=False, break_on_hyphens=False)
    yield ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table whose first column is words and whose others are figures."""
    yield f"| {' | '.join(columns)} |"
    yield f"| --- |{' --: |' * (len(columns) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def cell(value: object) -> str:
    """A figure with a sensible number of digits; anything else as it is."""
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def machine_line(machine: JsonObject) -> str:
    """What `describe_machine` says, for people."""
    units = ", ".join(machine["vector_units"]) or "no AVX"
    memory = "" if machine["memory_gb"] is None else f", {machine['memory_gb']} GB"
    return f"{machine['cpu']}, {machine['usable_cores']} cores ({units}){memory}"


def bounded(row: JsonObject, measure: str) -> str:
    """A measure of a row of results with its interval: ``0.773 [0.760, 0.786]``."""
    low, high = row["ci95"][measure]
    return f"{row[measure]:.3f} [{low:.3f}, {high:.3f}]"


def difference(row: JsonObject) -> str:
    """NDCG@10 of the reference minus that of a row over the sets, with interval; empty if not compared."""
    compared = row.get(f"{REFERENCE}_minus_this", {}).get("over_sets", {}).get("ndcg@10")
    return "" if compared is None else "{:+.3f} [{:+.3f}, {:+.3f}]".format(*compared)
