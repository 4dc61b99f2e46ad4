"""The plots of the report, as PNG files under docs/images/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.data import BENCH_PREFIX
from benchmarks.figures import IMAGES, half_framed, plt, save
from benchmarks.results import REFERENCE
from toolsearch.tools import JsonObject

_ACCENT, _PLAIN, _GREY = "#1f5fa8", "#c2703d", "#8a8f98"
_COMPARED = {REFERENCE: _ACCENT, "plain-rrf": "#7a4f9e", "plain-dense": _PLAIN, "plain-bm25": _GREY}


def draw_all(
    results: Mapping[str, JsonObject], scale: JsonObject | None, folder: Path = IMAGES
) -> list[Path]:
    """Draw what the results allow; the files written."""
    written = []
    over_sets = {name: result["over_sets"] for name, result in results.items() if result["over_sets"]}
    if over_sets:
        written.append(save(draw_quality(over_sets), folder / "quality.png"))
        written.append(save(draw_sets(results), folder / "sets.png"))
    if scale is not None:
        written.append(save(draw_scale(scale), folder / "scale.png"))
    return written


def draw_quality(over_sets: Mapping[str, JsonObject]) -> Any:
    """NDCG@10 of each retriever over the sets, with intervals."""
    names = list(over_sets)[::-1]
    figure, axes = plt.subplots(figsize=(7, 0.42 * len(names) + 1.2), layout="constrained")
    for y, name in enumerate(names):
        row = over_sets[name]
        low, high = row["ci95"]["ndcg@10"]
        color = _ACCENT if name == REFERENCE else _PLAIN if name.startswith("plain-") else _GREY
        axes.plot([low, high], [y, y], color=color, linewidth=2, solid_capstyle="round")
        axes.plot(row["ndcg@10"], y, "o", color=color)
        axes.annotate(f"{row['ndcg@10']:.3f}", (high, y), (6, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("NDCG@10, mean over sets, 95 % interval")
    axes.margins(x=0.12)
    return half_framed(figure)


def draw_sets(results: Mapping[str, JsonObject]) -> Any:
    """NDCG@10 of the default and the baselines on each set."""
    shown = {name: results[name]["datasets"] for name in _COMPARED if name in results}
    sets = sorted({name for datasets in shown.values() for name in datasets if name.startswith(BENCH_PREFIX)})
    figure, axes = plt.subplots(figsize=(7, 0.4 * len(sets) + 1.4), layout="constrained")
    for name, datasets in shown.items():
        places = [(datasets[s]["ndcg@10"], y) for y, s in enumerate(reversed(sets)) if s in datasets]
        axes.plot(
            *zip(*places, strict=True),
            "o" if name == REFERENCE else "d",
            color=_COMPARED[name],
            markersize=8 if name == REFERENCE else 6,
            label=name,
        )
    axes.set_yticks(range(len(sets)), [name.removeprefix(BENCH_PREFIX) for name in reversed(sets)])
    axes.set_xlabel("NDCG@10")
    axes.grid(axis="y", color="#e3e5e8")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=len(shown), frameon=False)
    return half_framed(figure)


def draw_scale(scale: JsonObject) -> Any:
    """Search time next to the embedding of the query, and memory next to the vectors, by catalog size."""
    sizes = scale["sizes"]
    tools = [size["tools"] for size in sizes]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for key, label, color in (
        ("search_p95_ms", "search, p95", _GREY),
        ("search_p50_ms", "search, p50", _ACCENT),
        ("embed_p50_ms", "embedding alone, p50", _PLAIN),
    ):
        left.plot(tools, [size[key] for size in sizes], "o-", label=label, color=color)
    left.set_ylabel("ms")
    for key, label, color in (
        ("rss_searching_mb", "resident, searching", _GREY),
        ("rss_loaded_mb", "resident, loaded", _ACCENT),
        ("vectors_mb", "vectors", _PLAIN),
    ):
        right.plot(tools, [size[key] for size in sizes], "o-", label=label, color=color)
    right.set_ylabel("MB")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(tools, [_short(n) for n in tools])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("tools")
        axes.legend(frameon=False)
    return half_framed(figure)


def _short(n: int) -> str:
    """A number of tools in few characters, such as 300k."""
    return f"{n / 1e6:g}M" if n >= 1e6 else f"{n / 1e3:g}k" if n >= 1e3 else str(n)
