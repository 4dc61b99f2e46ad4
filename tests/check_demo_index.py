"""Rebuild the committed demo index and compare: ``python -m tests.check_demo_index [--write]``.

Everything but floating point must be the same to the byte. Vectors and calibrated scores may differ in their
last digits between processors, so they are compared within a tolerance.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.exceptions import ToolIndexError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.building import build_index
from toolsearch.sources.files import read_catalog

DEMO = Path(__file__).parents[1] / "indexes" / "demo"
INDEX = DEMO / "index"

LEAST_COSINE = 0.999
SCORE_TOLERANCE = 0.02
OF_FLOATS = frozenset({"vectors.faiss", "calibration.json"})


def main() -> int:
    """0 when the committed index is what the committed catalog gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put the rebuilt index in place of the committed one"
    )
    write = parser.parse_args().write
    rebuilt = build_index(read_catalog(DEMO / "catalog", strict=True).catalog, BundledEmbedder())
    if write:
        rebuilt.save(INDEX)
        print(f"wrote {len(rebuilt)} tools")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rebuilt.save(Path(folder) / "index")
        differences = list(compare(INDEX, Path(folder) / "index"))
    for difference in differences:
        print(f"indexes/demo/index: {difference}", file=sys.stderr)
    if differences:
        print("Rebuild it: python -m tests.check_demo_index --write", file=sys.stderr)
    else:
        print(f"the committed index of {len(rebuilt)} tools is the one that the catalog gives")
    return bool(differences)


def compare(committed: Path, rebuilt: Path) -> Iterator[str]:
    """What differs between two index folders, as sentences."""
    try:
        old_manifest, new_manifest = ToolIndex.verify(committed), ToolIndex.verify(rebuilt)
        old, new = ToolIndex.load(committed), ToolIndex.load(rebuilt)
    except ToolIndexError as exc:
        yield str(exc)
        return
    if old_manifest.summary != new_manifest.summary:
        yield f"{old_manifest.summary} was committed; {new_manifest.summary} is right"
        return
    for name in sorted(old_manifest.files.keys() | new_manifest.files.keys()):
        if name not in OF_FLOATS and old_manifest.files.get(name) != new_manifest.files.get(name):
            yield f"{name} differs"
    cosines = [float(old.vectors.vector(row) @ new.vectors.vector(row)) for row in range(len(old))]
    if min(cosines) < LEAST_COSINE:
        name = old.columns.names[int(np.argmin(cosines))]
        yield f"the vector of {name!r} differs, cosine {min(cosines):.4f}"
    scores = [np.array((index.calibration or {}).get("best_scores", [])) for index in (old, new)]
    if scores[0].shape != scores[1].shape or np.abs(scores[0] - scores[1]).max(initial=0) > SCORE_TOLERANCE:
        yield "the calibration differs"


if __name__ == "__main__":
    sys.exit(main())
