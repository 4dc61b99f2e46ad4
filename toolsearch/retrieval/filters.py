"""Which tools a request may find: decided from names and labels, before anything is ranked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from toolsearch.deadlines import check_deadline
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest

Mask = NDArray[np.bool_]

_UNKNOWN_TOLD = 10


def allowed_rows(index: ToolIndex, request: SearchRequest) -> Mask | None:
    """A mask over the rows of `index` that the filters of `request` let through; None for all of them.

    `SearchRequest.exclude` is not among them: an excluded tool counts as found, not as forbidden.
    """
    columns = index.columns
    masks: list[Mask] = []
    if request.sources is not None:
        masks.append(_labelled(columns.source_rows, request.sources, len(index)))
    if request.tags is not None:
        masks.append(_labelled(columns.tag_rows, request.tags, len(index)))
    if request.allow is not None:
        masks.append(_matches(index, request.allow))
    if request.deny:
        masks.append(~_matches(index, request.deny))
    if request.within is not None and (within := index.part(request.within).rows) is not None:
        masks.append(within)
    if request.read_only:
        masks.append(columns.claimed_read_only)
    return np.logical_and.reduce(masks) if masks else None


def unknown_labels(index: ToolIndex, request: SearchRequest) -> list[str]:
    """What to tell of the sources and tags of `request` that no tool has, with those that look like them."""
    return [
        *unknown_among("source", request.sources, index.columns.source_rows),
        *unknown_among("tag", request.tags, index.columns.tag_rows),
    ]


def unknown_among(kind: str, wanted: Iterable[str] | None, known: Mapping[str, object]) -> list[str]:
    """A sentence for each of the first ten that `known` lacks, and one for all others."""
    unknown = sorted(set(wanted or ()) - known.keys())
    sentences = []
    for label in unknown[:_UNKNOWN_TOLD]:
        check_deadline()
        near = get_close_matches(label, known, n=3)
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        sentences.append(f"No tool has the {kind} {label!r}.{hint}")
    if len(unknown) > _UNKNOWN_TOLD:
        sentences.append(f"No tool has {len(unknown) - _UNKNOWN_TOLD} more of the {kind}s.")
    return sentences


def excluded_rows(index: ToolIndex, request: SearchRequest) -> NDArray[np.int64]:
    """The rows of the tools that `request` excludes; names that the index does not have are passed over."""
    rows = (index.row_of(name) for name in request.exclude)
    return np.array(sorted(row for row in rows if row is not None), dtype=np.int64)


def _labelled(rows_of: Mapping[str, NDArray[np.int64]], labels: Iterable[str], n: int) -> Mask:
    mask = np.zeros(n, dtype=bool)
    for label in labels:
        mask[rows_of.get(label, [])] = True
    return mask


def _matches(index: ToolIndex, globs: Sequence[str]) -> Mask:
    """Rows whose public name, raw name or ``source/raw_name`` fits one of `globs`; case counts."""
    return index.columns.matching(tuple(globs))
