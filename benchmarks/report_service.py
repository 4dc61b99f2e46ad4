"""The part of the report on the HTTP service, and the sizing table of docs/operations.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.markdown import cell, machine_line, prose, table
from toolsearch.tools import JsonObject

_SIZING = re.compile(r"(?<=<!-- sizing -->\n).*?(?=<!-- end of sizing -->)", re.DOTALL)


def service_section(service: JsonObject) -> Iterator[str]:
    """Its lines, from what benchmarks/service.py measured."""
    yield "## The HTTP service"
    yield ""
    yield from prose(
        "`python -m benchmarks.service`: `toolsearch serve` with its default settings in a process of its "
        f"own, loaded by another on the same machine, with {service['queries']} dev queries of the bench "
        f"sets, each cut to its first {service['query_words']} words. What is compared ran in turn within "
        "one run; where the machine was busy, trust the ratios."
    )
    for machine in {machine_line(part["machine"]): None for part in service.values() if _is_part(part)}:
        yield from prose(f"Measured on: {machine}.")
    yield from table(["what", "measured", "wanted"], _rows(service))
    yield ""
    if "latency" in service:
        latency = service["latency"]
        yield f"{latency['callers']} callers, each with one search at a time, {latency['tools']:,} tools:"
        yield ""
        yield from table(
            ["", "searches a second", "p50 / ms", "p95 / ms", "p99 / ms"],
            (
                [title, *(cell(latency[key][figure]) for figure in _FIGURES)]
                for title, key in (("threads of one process", "in_process"), ("over HTTP", "http"))
            ),
        )
        yield ""


_FIGURES = ("answers_per_s", "p50_ms", "p95_ms", "p99_ms")


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and "machine" in part


def _rows(service: JsonObject) -> Iterator[list[str]]:
    if (latency := service.get("latency")) is not None:
        title = f"p99 over HTTP over p99 in process, {latency['callers']} connections"
        yield [title, _times(latency["p99_ratio"], latency["p99_ratios"]), "≤ 3"]
    if (over := service.get("overload")) is not None:
        share = f"{100 * over['refused_share']:.0f} %"
        title = f"errors while twice what is sustainable arrives, {share} of it refused"
        yield [title, f"{over['errors']} of {over['over']['requests']:,}", "0"]
    if (batch := service.get("batch")) is not None:
        title = f"searches a second in batches of {batch['batch']} over one by one, one connection"
        yield [title, _times(batch["ratio"], batch["ratios"]), "≥ 4"]
    if (memory := service.get("memory")) is not None:
        title = f"resident memory after {memory['requests']:,} requests over that after a tenth of them"
        yield [title, f"{1 + memory['grown_share']:.3f} ({memory['grown_mb']:+.1f} MB)", "flat"]
    if (start := service.get("start")) is not None:
        title = "start to ready over import and load in a process"
        yield [title, _times(start["ratio"], start["ratios"]), "≤ 3"]
    if (proxy := service.get("proxy")) is not None:
        title = "what the model proxy adds without a search over what a plain pass-through adds"
        # Of the medians of all requests; those of each block of them have ratios of their own.
        yield [title, f"{proxy['ratio']:.2f} (in blocks {_each(proxy['ratios'])})", "≤ 1.5"]


def _times(middle: float, all_of: list[float]) -> str:
    return f"{middle:.2f} (median of {_each(all_of)})"


def _each(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))


def write_sizing(service: JsonObject, page: Path) -> None:
    """Put the sizing table between the marks of `page`."""
    if "sizes" not in service:
        return
    text = page.read_text(encoding="utf-8")
    page.write_text(_SIZING.sub(lambda _: "\n".join(sizing_lines(service)) + "\n", text), encoding="utf-8")


def sizing_lines(service: JsonObject) -> Iterator[str]:
    """The table, and where it was measured."""
    sizes = service["sizes"]
    yield ""
    yield from table(
        [
            "tools",
            "index / MB",
            "resident, ready / MB",
            "resident, loaded / MB",
            "start / s",
            "one connection, p50 / p99 / ms",
            f"{sizes['callers']} connections, p50 / p99 / ms",
            "searches a second",
        ],
        (
            [
                f"{row['tools']:,}",
                cell(row["disk_mb"]),
                cell(row["ready_mb"]),
                cell(row["rss_mb"]),
                cell(row["ready_s"]),
                f"{row['one_connection']['p50_ms']:.0f} / {row['one_connection']['p99_ms']:.0f}",
                f"{row['connections']['p50_ms']:.0f} / {row['connections']['p99_ms']:.0f}",
                cell(row["connections"]["answers_per_s"]),
            ]
            for row in sizes["rows"]
        ),
    )
    yield ""
    yield f"`python -m benchmarks.service`, on: {machine_line(sizes['machine'])}."
    yield ""
