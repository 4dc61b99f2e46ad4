"""What all plots share: how they are drawn without a screen, framed and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.data import REPOSITORY

mpl.use("Agg")

from matplotlib import pyplot as plt

__all__ = ["IMAGES", "half_framed", "plt", "save"]

IMAGES = REPOSITORY / "docs" / "images"


def half_framed(figure: Any) -> Any:
    """`figure`, its axes without the lines at the top and on the right."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def save(figure: Any, path: Path, *, dpi: int = 120) -> Path:
    """Write `figure` to `path`, which is returned, and close it; the same figure gives the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, metadata={"Software": None})  # the version of matplotlib stays out
    plt.close(figure)
    return path
