"""The plot of the tool searches of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.data import BENCH_PREFIX
from benchmarks.figures import IMAGES, half_framed, plt, save
from benchmarks.report_peers import order_of_sets, title_of
from benchmarks.results import REFERENCE
from toolsearch.tools import JsonObject

_ACCENT, _OURS, _PEER = "#1f5fa8", "#8fb3dc", "#c2703d"
_COLUMNS = 4


def draw_peers(peers: JsonObject, folder: Path = IMAGES) -> Path | None:
    """Draw NDCG@10 with intervals, over the sets and set by set; the file written, None without figures."""
    rows = [row for row in peers["retrievers"] if row["status"] == "run"]
    if not rows:
        return None
    panels = [(name, [row["datasets"][name] for row in rows]) for name in order_of_sets(peers)]
    if all(row["over_sets"] for row in rows):
        panels.insert(0, ("mean over sets", [row["over_sets"] for row in rows]))
    lines = -(-len(panels) // _COLUMNS)
    figure, grid = plt.subplots(
        lines,
        _COLUMNS,
        figsize=(11, 2.1 * lines + 0.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    # The lowest of each column says where it ends, also where the last line is short.
    for axes in grid.flat[max(0, len(panels) - _COLUMNS) : len(panels)]:
        axes.tick_params(labelbottom=True)
    for axes, (name, figures) in zip(grid.flat, panels, strict=False):
        _bars(axes, rows, figures)
        axes.set_title(name.removeprefix(BENCH_PREFIX) if BENCH_PREFIX in name else _other(name), fontsize=9)
    grid[0, 0].set_yticks(range(len(rows)), [title_of(row) for row in rows], fontsize=8)
    grid[0, 0].invert_yaxis()
    grid[0, 0].set_xlim(0, 1)
    figure.supxlabel("NDCG@10, 95 % interval", fontsize=9)
    return save(half_framed(figure), folder / "peers.png", dpi=110)


def _bars(axes: Any, rows: list[JsonObject], figures: list[JsonObject]) -> None:
    for y, (row, figure) in enumerate(zip(rows, figures, strict=True)):
        low, high = figure["ci95"]["ndcg@10"]
        color = _ACCENT if row["name"] == REFERENCE else _OURS if row["ours"] else _PEER
        axes.barh(y, figure["ndcg@10"], color=color, height=0.7)
        axes.plot([low, high], [y, y], color="#333", linewidth=1)
    axes.tick_params(labelsize=8)


def _other(name: str) -> str:
    return f"{name} (package)" if name == "bfcl" else name
