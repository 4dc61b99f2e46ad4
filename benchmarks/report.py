"""The report over all committed results.

    python -m benchmarks.report

Writes docs/benchmarks.md from benchmarks/results/ and the plots that it shows. No figure is typed by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.conditions import read_conditions
from benchmarks.data import BENCH_PREFIX, REPOSITORY
from benchmarks.encoder_card import UNSEEN, write_encoder_card
from benchmarks.markdown import bounded, cell, difference, machine_line, prose, table
from benchmarks.report_loop import loop_section
from benchmarks.report_peers import peers_section
from benchmarks.report_scale import scale_section
from benchmarks.report_service import service_section, write_sizing
from benchmarks.results import QUALITY, REFERENCE, RESULTS, read_results
from benchmarks.train_encoder import QUERIED
from toolsearch.tools import JsonObject

REPORT = REPOSITORY / "docs" / "benchmarks.md"
OPERATIONS = REPOSITORY / "docs" / "operations.md"

DESCRIPTIONS = {
    "hybrid": "the default: names, dense and lexical, fused by value, and requests searched in steps",
    "whole": "the default without steps, as all that follow",
    "dense": "the dense channel alone",
    "untuned": "the default with all-MiniLM-L6-v2 as it was before it was tuned",
    "untuned-dense": "its dense channel alone",
    "lexical": "the lexical channel alone",
    "rrf": "the same two channels by reciprocal rank fusion, k0 60, depth 100",
    "min-max": "the same two, 0.65 and 0.35 after stretching each to 0..1",
    "share": "the same two, cosine plus a quarter of BM25 over its ceiling",
    "plain-bm25": "BM25 over name, description, server and parameter names",
    "plain-dense": "MiniLM over `name: description`",
    "plain-rrf": "reciprocal rank fusion of the last two",
}
BASELINES = ("plain-bm25", "plain-dense", "plain-rrf")
MEANS = ("recall@1", "recall@5", "recall@10", "completeness@10", "ndcg@10", "mrr")
TITLES = {"ndcg@10": "NDCG@10", "mrr": "MRR@10"}


def main() -> int:
    """Write the report and its plots."""
    from benchmarks.plots import draw_all
    from benchmarks.plots_loop import draw_loop
    from benchmarks.plots_peers import draw_peers

    results, scale, loop, peers, service = (
        read_results(QUALITY),
        read_scale(RESULTS),
        read_loop(RESULTS),
        read_peers(RESULTS),
        read_service(RESULTS),
    )
    draw_all(_in_order(results), scale)
    if loop is not None:
        draw_loop(loop)
    if peers is not None:
        draw_peers(peers)
    tables = read_tables(RESULTS / "tables")
    REPORT.write_text(render(results, scale, tables, loop, peers, service=service), encoding="utf-8")
    if service is not None:
        write_sizing(service, OPERATIONS)
    write_encoder_card(results)
    return 0


def render(
    results: Mapping[str, JsonObject],
    scale: JsonObject | None,
    tables: Sequence[JsonObject] = (),
    loop: JsonObject | None = None,
    peers: JsonObject | None = None,
    *,
    service: JsonObject | None = None,
) -> str:
    """The report as Markdown; the same results give the same text."""
    results = _in_order(results)
    parts: list[Sequence[str] | Iterator[str]] = [_introduction(results)]
    if results:
        parts += [_unseen(results), _means(results), _sets(results), _demo(results), _bfcl(results)]
    if peers is not None:
        parts.append(peers_section(peers))
    parts += [_further(further) for further in tables]
    if scale is not None:
        parts.append(scale_section(scale))
    if service is not None:
        parts.append(service_section(service))
    if loop is not None:
        parts.append(loop_section(loop))
    parts.append(_limits())
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def read_tables(folder: Path) -> list[JsonObject]:
    """Further measurements: ``{"title", "text", "command", "columns", "rows"}`` a file, by file name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def read_scale(folder: Path) -> JsonObject | None:
    """What benchmarks/scale.py left in `folder`; None if it was not run yet."""
    return _read_if_there(folder / "scale.json")


def read_loop(folder: Path) -> JsonObject | None:
    """What benchmarks/loop.py left in `folder`; None if it was not run yet."""
    return _read_if_there(folder / "loop.json")


def read_peers(folder: Path) -> JsonObject | None:
    """What benchmarks/peers left in `folder`; None if it was not run yet."""
    return _read_if_there(folder / "peers.json")


def read_service(folder: Path) -> JsonObject | None:
    """What benchmarks/service.py left in `folder`; None if it was not run yet."""
    return _read_if_there(folder / "service.json")


def _read_if_there(path: Path) -> JsonObject | None:
    if not path.exists():
        return None
    result: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    return result


def _in_order(results: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """As `conditions.yaml` lists them."""
    return {name: results[name] for name in read_conditions() if name in results}


def _introduction(results: Mapping[str, JsonObject]) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield from prose(
        "Written by `python -m benchmarks.report` from the JSON in `benchmarks/results/`. Quality: "
        "`python -m benchmarks.reproduce --data DIR`, which also compares with the scores that "
        "`benchmarks/conditions.yaml` expects. Time and memory: `python -m benchmarks.scale`. "
        "Other tool searches: `python -m benchmarks.peers run`. Whole conversations: "
        "`python -m benchmarks.loop`. The HTTP service: `python -m benchmarks.service`."
    )
    yield from prose(
        "Measures are those of TREC. recall@k: share of a query's relevant tools in the first k; "
        "completeness@k: all of them are; NDCG@10 with gains of 0 and 1. Means over sets give each set the "
        "same weight. Brackets hold 95 % intervals of a percentile bootstrap over queries (2,000 resamples); "
        "differences between two retrievers are paired by query."
    )
    yield from prose(
        f"**The bundled encoder was trained on the dev queries of {len(QUERIED)} of the sets**: "
        f"{', '.join(QUERIED)}. Their figures with it are too good for requests that it has not seen. It "
        "never saw bfcl, livemcpbench and demo; what it gains on sets left out of training in turn has a "
        "table of its own. *Untuned* is what can be compared with others on all sets alike."
    )
    for machine in {machine_line(result["machine"]): None for result in results.values()}:
        yield from prose(f"Quality was measured on: {machine}.")


def _unseen(results: Mapping[str, JsonObject]) -> Iterator[str]:
    sets = [name for name in UNSEEN if all(name in result["datasets"] for result in results.values())]
    if not sets:
        return
    yield "## Sets that the encoder never saw"
    yield ""
    yield "NDCG@10, and the mean over the sets:"
    yield ""
    rows = {name: [result["datasets"][each]["ndcg@10"] for each in sets] for name, result in results.items()}
    yield from table(
        ["retriever", *(name.removeprefix(BENCH_PREFIX) for name in sets), "mean"],
        (
            [f"**{name}**" if name == REFERENCE else name, *(f"{v:.3f}" for v in [*row, fmean(row)])]
            for name, row in rows.items()
        ),
    )
    yield ""


def _means(results: Mapping[str, JsonObject]) -> Iterator[str]:
    rows = {name: result["over_sets"] for name, result in results.items() if result["over_sets"]}
    if not rows:
        return
    sets = {len(row["sets"]) for row in rows.values()}
    yield "## Channels and fusions"
    yield ""
    yield from prose(
        f"Means over {' or '.join(map(str, sorted(sets)))} sets of tools, their dev queries only."
    )
    yield from table(
        ["retriever", *(TITLES.get(measure, measure) for measure in MEANS), "NDCG@10 of default minus this"],
        (
            [
                f"**{name}**" if name == REFERENCE else name,
                *(bounded(row, m) if m == "ndcg@10" else f"{row[m]:.3f}" for m in MEANS),
                difference(results[name]),
            ]
            for name, row in rows.items()
        ),
    )
    yield ""
    for name in rows:
        yield f"- {name}: {DESCRIPTIONS.get(name, name)}"
    yield ""
    yield "![NDCG@10 of each retriever over the sets](images/quality.png)"
    yield ""
    if REFERENCE in rows and all(name in rows for name in BASELINES):
        yield from _against_baselines(rows)


def _against_baselines(rows: Mapping[str, JsonObject]) -> Iterator[str]:
    yield "The default against the best of plain BM25, plain dense and their reciprocal rank fusion:"
    yield ""
    for measure in ("ndcg@10", "completeness@10"):
        best = max(BASELINES, key=lambda name: rows[name][measure])
        gain = 100 * (rows[REFERENCE][measure] - rows[best][measure])
        yield (
            f"- {TITLES.get(measure, measure)}: {rows[REFERENCE][measure]:.3f} against "
            f"{rows[best][measure]:.3f} ({best}), {gain:+.1f} points"
        )
    yield ""


def _sets(results: Mapping[str, JsonObject]) -> Iterator[str]:
    sets = sorted({name for result in results.values() for name in result["datasets"] if _is_bench(name)})
    if not sets:
        return
    yield "## Set by set"
    yield ""
    for measure in ("ndcg@10", "completeness@10", "recall@5"):
        yield f"{TITLES.get(measure, measure)}:"
        yield ""
        yield from table(
            ["set", "tools", "queries", *results],
            (
                [name.removeprefix(BENCH_PREFIX), *_size(results, name), *_row(results, name, measure)]
                for name in sets
            ),
        )
        yield ""
    near = [name for name in sets if _any_dataset(results, name).get("near")]
    if near:
        yield "NDCG@10 with near-duplicate tools taken for one, where a set names any:"
        yield ""
        yield from table(
            ["set", *results],
            ([name.removeprefix(BENCH_PREFIX), *_row(results, name, "ndcg@10", "near")] for name in near),
        )
        yield ""
    yield "![NDCG@10 set by set](images/sets.png)"
    yield ""


def _demo(results: Mapping[str, JsonObject]) -> Iterator[str]:
    with_demo = {
        name: result["datasets"]["demo"] for name, result in results.items() if "demo" in result["datasets"]
    }
    if not with_demo:
        return
    first = next(iter(with_demo.values()))
    kinds = list(first.get("kinds", {}))
    yield "## The demo set"
    yield ""
    yield from prose(
        f"{first['tools']} tools of our own with {first['queries']} requests. NDCG@10, in all and by kind:"
    )
    yield from table(
        ["retriever", "all", *(f"{kind} ({first['kinds'][kind]['queries']})" for kind in kinds)],
        (
            [name, f"{demo['ndcg@10']:.3f}", *(f"{demo['kinds'][kind]['ndcg@10']:.3f}" for kind in kinds)]
            for name, demo in with_demo.items()
        ),
    )
    yield ""
    if REFERENCE in with_demo and "abstention" in with_demo[REFERENCE]:
        told = with_demo[REFERENCE]["abstention"]
        yield from prose(
            f"Requests that nothing in the catalog serves: {told['unanswerable']}. The default's confidence "
            f"tells them from the {told['answerable']} others with an AUROC of {cell(told['auroc'])}. It "
            f"says that nothing fits to {100 * told['abstained']:.0f} % of them, and to "
            f"{100 * told['false_alarms']:.1f} % of the others. {told['unjudged']} requests that the encoder "
            "cannot read are never told so and not in the AUROC."
        )


def _bfcl(results: Mapping[str, JsonObject]) -> Iterator[str]:
    rows = {
        name: result["datasets"]["bfcl"] for name, result in results.items() if "bfcl" in result["datasets"]
    }
    if not rows:
        return
    first = next(iter(rows.values()))
    yield "## BFCL from its package"
    yield ""
    yield from prose(
        f"{first['tools']} functions and {first['queries']} single-turn requests of `bfcl-eval`, see "
        "`benchmarks/loaders/bfcl.py`. Many functions share another's name: the near figures take those "
        "for one."
    )
    yield from table(
        ["retriever", "recall@5", "completeness@10", "NDCG@10", "NDCG@10, near"],
        (
            [
                name,
                f"{row['recall@5']:.3f}",
                f"{row['completeness@10']:.3f}",
                bounded(row, "ndcg@10"),
                f"{row['near']['ndcg@10']:.3f}",
            ]
            for name, row in rows.items()
        ),
    )
    yield ""


def _further(further: JsonObject) -> Iterator[str]:
    yield f"## {further['title']}"
    yield ""
    yield from prose(further["text"])
    yield from table(further["columns"], ([cell(value) for value in row] for row in further["rows"]))
    yield ""
    yield from prose(f"Measured by `{further['command']}`.")


def _limits() -> Iterator[str]:
    yield "## What these figures do not say"
    yield ""
    yield from prose(
        "Relevance was judged within each set by its makers, seldom for every tool: a retriever that finds "
        "another tool that serves as well gets nothing for it. Figures compare retrievers; they are no "
        "success rate. Texts, weights and thresholds were chosen on these queries, so expect a little less "
        "elsewhere. Intervals are over queries of the given sets; they say nothing of other kinds of sets."
    )


def _is_bench(name: str) -> bool:
    return name.startswith(BENCH_PREFIX)


def _any_dataset(results: Mapping[str, JsonObject], name: str) -> JsonObject:
    found: JsonObject = next(r["datasets"][name] for r in results.values() if name in r["datasets"])
    return found


def _size(results: Mapping[str, JsonObject], name: str) -> tuple[str, str]:
    dataset = _any_dataset(results, name)
    return f"{dataset['tools']:,}", f"{dataset['queries']:,}"


def _row(
    results: Mapping[str, JsonObject], name: str, measure: str, part: str | None = None
) -> Iterator[str]:
    """A measure of each condition on one data set, the best in bold."""
    found = [result["datasets"].get(name) for result in results.values()]
    values = [None if row is None else (row[part] if part else row)[measure] for row in found]
    best = max(value for value in values if value is not None)
    for value in values:
        text = "" if value is None else f"{value:.3f}"
        yield f"**{text}**" if value == best else text


if __name__ == "__main__":
    sys.exit(main())
