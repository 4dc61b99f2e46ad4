"""Building an index that is ready to be searched: tools, vectors, lexicon, and how sure a score is."""

from __future__ import annotations

from toolsearch.embedders.base import Embedder, Progress
from toolsearch.given import Tools
from toolsearch.index.tool_index import ToolIndex
from toolsearch.index.vectors import BuildKind
from toolsearch.retrieval.calibration import calibrate


def build_index(
    catalog: Tools,
    embedder: Embedder,
    *,
    kind: BuildKind = "auto",
    progress: Progress | None = None,
) -> ToolIndex:
    """A calibrated index of all tools of `catalog`; see `ToolIndex.build`.

    Raises:
        EmbeddingError: the embedder failed, or answered something that is no embedding.
    """
    return _calibrated(ToolIndex.build(catalog, embedder, kind=kind, progress=progress), embedder)


def update_index(
    index: ToolIndex, catalog: Tools, embedder: Embedder, *, progress: Progress | None = None
) -> ToolIndex:
    """A calibrated index of all tools of `catalog`, for which only what changed is embedded.

    Raises:
        IndexMismatchError: `index` was built by another embedder.
        EmbeddingError: the embedder failed, or answered something that is no embedding.
    """
    return _calibrated(index.update(catalog, embedder, progress=progress), embedder)


def _calibrated(index: ToolIndex, embedder: Embedder) -> ToolIndex:
    return index.with_calibration(calibrate(index, embedder).to_json())
