"""The part of the report on the tool searches of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.data import BENCH_PREFIX
from benchmarks.markdown import bounded, difference, machine_line, prose, table
from benchmarks.peers.comparison import UNTUNED
from benchmarks.results import REFERENCE
from toolsearch.tools import JsonObject

TITLES = {
    "hit_rate@1": "hit rate@1",
    "recall@5": "recall@5",
    "completeness@5": "completeness@5",
    "ndcg@10": "NDCG@10",
}
BY_SET = ("ndcg@10", "hit_rate@1")


def peers_section(peers: JsonObject) -> Iterator[str]:
    """Its lines, from what benchmarks/peers measured."""
    run = [row for row in peers["retrievers"] if row["status"] == "run"]
    yield "## Other tool searches"
    yield ""
    yield from prose(
        "Each as installed from the registry, in an environment of its own, over the same catalogs and asked "
        f"the same queries: of each set at most {peers['queries_per_set']} that have relevant tools, drawn "
        f"with seed {peers['seed']}. Each is used through its own public search with its own text of a tool, "
        f"words and fusion; it is asked for {peers['k']} tools, and what it does not return counts as not "
        "found. Tools have the names that a host of several servers shows: `server__name`. A peer that "
        "carries no encoder is given plain all-MiniLM-L6-v2, the int8 one of the plain baselines, without a "
        "prompt. Our default has the encoder that learned from the dev queries of most of these sets; *ours, "
        "untuned* is the same search with the encoder of the peers, and the fair comparison."
    )
    yield from prose(
        f"Measured on: {machine_line(peers['machine'])}, by `{peers['command']}`. Times are those of the "
        "processor beside the embedding of the query, which is the same for all that embed one and takes "
        f"{_embedding_ms(run):.0f} ms; the wall times in the JSON are those of a machine that did other work "
        f"too (load {peers['machine']['load']})."
    )
    yield from _means(peers, run)
    yield from _wins(peers, run)
    for measure in BY_SET:
        yield from _by_set(peers, run, measure)
    yield "![NDCG@10 of each tool search, set by set](images/peers.png)"
    yield ""
    yield from _usage(peers["retrievers"])


def order_of_sets(peers: JsonObject) -> list[str]:
    """The sets with queries of others first, both sorted."""
    return sorted(peers["sets"], key=lambda name: (not name.startswith(BENCH_PREFIX), name))


def title_of(row: JsonObject) -> str:
    """What tables and plots call a retriever."""
    return {REFERENCE: "ours, default", UNTUNED: "ours, untuned"}.get(row["name"], str(row["title"]))


def _means(peers: JsonObject, run: Sequence[JsonObject]) -> Iterator[str]:
    rows = [row for row in run if row["over_sets"]]
    if not rows:
        return
    largest = max(peers["sets"], key=lambda name: peers["sets"][name]["tools"])
    yield from prose(
        f"Means over {len(rows[0]['over_sets']['sets'])} sets of tools, each with the same weight; CPU ms "
        f"are the median of the sets' medians, and the median over the {peers['sets'][largest]['tools']:,} "
        f"tools of {largest.removeprefix(BENCH_PREFIX)}:"
    )
    columns = [*TITLES.values(), "NDCG@10 of default minus this", "CPU ms", "CPU ms, largest set"]
    yield from table(
        ["tool search", *columns],
        (
            [
                f"**{title_of(row)}**" if row["name"] == REFERENCE else title_of(row),
                *(bounded(row["over_sets"], measure) for measure in TITLES),
                difference(row),
                f"{median([d['own_cpu_ms_p50'] for d in row['datasets'].values()]):.1f}",
                f"{row['datasets'][largest]['own_cpu_ms_p50']:.1f}",
            ]
            for row in rows
        ),
    )
    for row in peers["retrievers"]:
        if row["status"] != "run":
            yield f"| {title_of(row)} | not run: {row['reason']} |{' |' * (len(columns) - 1)}"
    yield ""


def _wins(peers: JsonObject, run: Sequence[JsonObject]) -> Iterator[str]:
    """Where ours are ahead of every peer, and by whom they are not."""
    others = [row for row in run if not row["ours"]]
    if not others:
        return
    for ours in run:
        if ours["name"] not in {REFERENCE, UNTUNED}:
            continue
        for measure in BY_SET:
            behind = [*_behind(peers, ours, others, measure)]
            total = len(peers["sets"])
            ahead = f"{TITLES[measure]}: {title_of(ours)}, is ahead of every peer on {total - len(behind)}"
            yield from prose(
                f"{ahead} of {total} sets; not on {'; '.join(behind)}."
                if behind
                else f"{ahead} of {total} sets."
            )


def _behind(peers: JsonObject, ours: JsonObject, others: Sequence[JsonObject], measure: str) -> Iterator[str]:
    for name in order_of_sets(peers):
        best = max(others, key=lambda row, name=name: row["datasets"][name][measure])  # type: ignore[misc]
        difference_to_best = ours["datasets"][name][measure] - best["datasets"][name][measure]
        if difference_to_best <= 0:
            shown = name.removeprefix(BENCH_PREFIX)
            yield f"{shown} ({title_of(best)}: {difference_to_best:+.3f})"


def _by_set(peers: JsonObject, run: Sequence[JsonObject], measure: str) -> Iterator[str]:
    yield f"{TITLES[measure]}, set by set:"
    yield ""
    rows = []
    for name in order_of_sets(peers):
        about = peers["sets"][name]
        values = [row["datasets"][name][measure] for row in run]
        best = max(values)
        shown = name.removeprefix(BENCH_PREFIX) if name.startswith(BENCH_PREFIX) else f"{name} (package)"
        rows.append(
            [
                "demo" if name == "demo" else shown,
                f"{about['tools']:,}",
                f"{about['queries']:,} of {about['of']:,}",
                *(f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in values),
            ]
        )
    yield from table(["set", "tools", "queries", *map(title_of, run)], rows)
    yield ""


def _usage(rows: Sequence[JsonObject]) -> Iterator[str]:
    yield "How each is used:"
    yield ""
    for row in rows:
        if row["ours"]:
            continue
        versions = row.get("versions", {})
        release = ", ".join(f"{package} {version}" for package, version in versions.items())
        encoder = "; with MiniLM" if row["embedder"] else ""
        yield f"- {row['title']}{f' ({release})' if release else ''}: {row['usage']}{encoder}"
    yield ""


def _embedding_ms(run: Sequence[JsonObject]) -> float:
    """The median over the sets and all retrievers that embed queries; 0 without any."""
    medians = [d["embedding_cpu_ms_p50"] for row in run if row["embedder"] for d in row["datasets"].values()]
    return median(medians) if medians else 0.0
