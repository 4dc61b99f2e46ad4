"""The plots of whole conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures import IMAGES, half_framed, plt, save
from benchmarks.report_loop import HEADLINE
from toolsearch.tools import JsonObject

_COLORS = {
    "send-all": "#8a8f98",
    "append": "#1f5fa8",
    "bridge": "#c2703d",
    "native": "#7a4f9e",
    "preselect": "#4d8f5b",
}
_PARTS = {"definitions": "#1f5fa8", "search": "#c2703d", "the rest": "#c9ccd1"}


def draw_loop(loop: JsonObject, folder: Path = IMAGES) -> list[Path]:
    """Draw both plots into `folder`; the files written."""
    return [
        save(draw_arms(loop), folder / "loop.png"),
        save(draw_break_even(loop["break_even"]), folder / "break-even.png"),
    ]


def draw_arms(loop: JsonObject) -> Any:
    """What a request for three tools reads and writes in each arm, by what it is for; rephrased queries."""
    rows = loop["groups"][HEADLINE]["rephrased"]
    names = [name for name in rows if name != "send-all"][::-1]
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for y, name in enumerate(names):
        per_task = rows[name]["per_task"]
        parts = {key: per_task.get(key, 0.0) for key in ("definitions", "search")}
        parts["the rest"] = per_task["tokens"] - sum(parts.values())
        left = 0.0
        for part, value in parts.items():
            axes.barh(y, value, left=left, color=_PARTS[part], label=part if y == 0 else None)
            left += value
        axes.annotate(
            f"{per_task['tokens']:,.0f}",
            (left, y),
            (5, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(names)), names)
    axes.margins(x=0.12)
    axes.set_xlabel(
        f"tokens a request, all rounds (all tools sent: {rows['send-all']['per_task']['tokens']:,.0f})"
    )
    axes.legend(frameon=False, loc="upper right", title="tokens of")
    return half_framed(figure)


def draw_break_even(found: JsonObject) -> Any:
    """Cost of a request over growing catalogs, uncached and with a warm cache."""
    figure, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    titles = {"tokens": "every token counts", "cost_warm": "cached tokens count a tenth, cache warm"}
    for axes, (measure, title) in zip(both, titles.items(), strict=True):
        for arm, values in found[measure].items():
            if arm == "native":
                continue
            label = "append, native" if arm == "append" else arm
            axes.plot(found["sizes"], values, "o-", markersize=4, color=_COLORS[arm], label=label)
        size = found["break_even"][measure]["append"]
        if size is not None:
            axes.axvline(size, color="#c9ccd1", linewidth=1, zorder=0)
            axes.annotate(f" {size} tools", (size, 300), va="bottom", color="#5d626b")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=300)
        axes.set_yticks([1_000, 10_000, 100_000], ["1,000", "10,000", "100,000"])
        axes.set_xticks([4, 8, 16, 32, 64, 128, 256], ["4", "8", "16", "32", "64", "128", "256"])
        axes.minorticks_off()
        axes.set_xlabel("tools in the catalog")
        axes.set_title(title, fontsize=10)
    both[0].set_ylabel("tokens a request")
    both[0].legend(frameon=False, loc="upper left")
    return half_framed(figure)
