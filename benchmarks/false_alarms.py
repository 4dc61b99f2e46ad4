"""How often public tools are taken for hostile ones.

    python -m benchmarks.false_alarms [--data DIR]

Every catalog of the bench sets is looked at as by `toolsearch lint`, and let through the guard of trust
source by source, as if each was seen for the first time. Nobody is known to have written any of these
definitions to mislead, so what is held back is a false alarm. Writes
benchmarks/results/tables/false-alarms.json, which `python -m benchmarks.report` shows.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import DEFAULT_DATA
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS, write_json
from toolsearch.catalog import Catalog
from toolsearch.evaluation.report import measured_versions
from toolsearch.lint import hidden_text, instructions, lint_catalog, names, other_tools, stuffing
from toolsearch.lint.finding import Rule
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject, Tool
from toolsearch.trust import Review, TrustRecord, review

COMMAND = "python -m benchmarks.false_alarms"
TABLE = RESULTS / "tables" / "false-alarms.json"

ORDERS = (
    instructions.OVERRIDE,
    instructions.SECRECY,
    instructions.CONSENT,
    instructions.EXFILTRATION,
    instructions.PREEMPTION,
    other_tools.OTHER_TOOL_ORDERS,
)
"""Texts that give orders to a model."""
DISGUISES = (
    hidden_text.HIDDEN_TEXT,
    hidden_text.INVISIBLE_CHARACTER,
    hidden_text.HIDDEN_MARKUP,
    hidden_text.ENCODED_BLOB,
    stuffing.RANK_STUFFING,
    names.NAME_LOOKALIKE,
)
"""Texts and names that hide or pretend something."""


@dataclass(frozen=True)
class Alarms:
    """What was said of the tools of one catalog.

    Attributes:
        n_tools, n_sources: Of the catalog.
        held: Tools that the guard holds back on first sight, by why: ``text``, ``name``, ``repeated``.
        warned: Tools that lint finds `ORDERS` or `DISGUISES` in, by the code of the rule.
        errors: Those among them where that is an error.
    """

    n_tools: int
    n_sources: int
    held: Mapping[str, int]
    warned: Mapping[str, int]
    errors: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at every catalog in the data folder; the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Count false alarms.")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="folder of the sets")
    parser.add_argument("--results", type=Path, default=TABLE, metavar="FILE")
    options = parser.parse_args(arguments)
    files = sorted(options.data.glob("*/catalog.jsonl"))
    if not files:
        print(f"error: there is no SET/catalog.jsonl in {options.data}", file=sys.stderr)
        return 2
    counted: dict[str, Alarms] = {}
    fingerprints: dict[str, str] = {}
    for file in files:
        print(f"reading {file.parent.name}", flush=True)
        catalog = read_catalog(file).catalog
        fingerprints[file.parent.name] = catalog.fingerprint
        counted[file.parent.name] = alarms(catalog)
    table = {
        **as_table(counted),
        "command": COMMAND,
        "machine": describe_machine(),
        "versions": measured_versions(),
        "fingerprints": fingerprints,
    }
    write_json(table, options.results)
    return 0


def alarms(catalog: Catalog) -> Alarms:
    """What lint and the guard say of a catalog of which nothing is known yet."""
    by_source: dict[str, list[Tool]] = {}
    for tool in catalog.values():
        by_source.setdefault(tool.source, []).append(tool)
    codes = _codes((*ORDERS, *DISGUISES))
    found = [finding for finding in lint_catalog(catalog) if finding.code in codes]
    warned = Counter(code for code, _ in {(finding.code, finding.tool) for finding in found})
    errors = {finding.tool for finding in found if finding.severity == "error"}
    return Alarms(len(catalog), len(by_source), _held(by_source), warned, len(errors))


def as_table(counted: Mapping[str, Alarms]) -> JsonObject:
    """The table of the report: a row a catalog, and one for all of them."""
    rows = [[name, *_figures([each])] for name, each in counted.items()]
    rows.append(["all", *_figures(counted.values())])
    return {
        "title": "False alarms about public tools",
        "text": (
            "Real definitions of MCP servers, cloud APIs, OpenAPI documents and research sets, none of which "
            "is known to be hostile. Held: what the guard of trust leaves out where every source is seen for "
            "the first time, because of a text that gives orders or hides something, because its name could "
            "be taken for that of a built-in tool or of another source, or because its source lists it with "
            "several definitions, so that a call could not say which it means. Warned of: in how many tools "
            "lint sees orders to a model, and a disguise (hidden text, markup, blobs, repetition, look-alike "
            "letters), whether or not they are held."
        ),
        "columns": [
            "set",
            "tools",
            "sources",
            "held for a text",
            "held for a name",
            "held as repeated",
            "orders warned of",
            "disguises warned of",
            "lint errors",
        ],
        "rows": rows,
        "warnings by rule": dict(sorted(_sum(each.warned for each in counted.values()).items())),
    }


def _held(by_source: Mapping[str, Sequence[Tool]]) -> Counter[str]:
    held: Counter[str] = Counter()
    record = TrustRecord()
    for source in sorted(by_source):
        done = review(record, source, by_source[source])
        record = done.record
        held += _reasons(done)
    return held


def _reasons(done: Review) -> Counter[str]:
    return Counter(
        "name" if finding.shadows else "repeated" if finding.situation == "repeated" else "text"
        for finding in done.held
    )


def _figures(counted: Iterable[Alarms]) -> list[int]:
    every = list(counted)
    held, warned = _sum(each.held for each in every), _sum(each.warned for each in every)
    return [
        sum(each.n_tools for each in every),
        sum(each.n_sources for each in every),
        *(held[reason] for reason in ("text", "name", "repeated")),
        *(sum(warned[code] for code in _codes(rules)) for rules in (ORDERS, DISGUISES)),
        sum(each.errors for each in every),
    ]


def _codes(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(rule.code for rule in rules)


def _sum(counters: Iterable[Mapping[str, int]]) -> Counter[str]:
    return sum((Counter(each) for each in counters), Counter[str]())


if __name__ == "__main__":
    raise SystemExit(main())
