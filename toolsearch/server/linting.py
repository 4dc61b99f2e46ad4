"""`CatalogLinter`: what lint says of what callers see, found once for each view."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import TooBusyError
from toolsearch.lint import SEVERITIES, Finding
from toolsearch.lint import lint_catalog as lint
from toolsearch.server.visible import Visible

_KEPT = 8

_Key: TypeAlias = tuple[str, bool]


@dataclass(frozen=True)
class Linted:
    """Findings, the gravest first."""

    findings: tuple[Finding, ...]

    @cached_property
    def severities(self) -> Mapping[str, int]:
        """How many there are of each severity, the gravest first."""
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """How many there are of each rule that has any, in the order of the findings."""
        return dict(Counter(finding.code for finding in self.findings))


class CatalogLinter:
    """Looks at one catalog at a time, as it takes a core for a second or for a minute."""

    def __init__(self, embedder: Embedder) -> None:
        """`embedder` is the one of the index."""
        self._embedder = embedder
        self._running = threading.Lock()
        self._kept: OrderedDict[_Key, Linted] = OrderedDict()

    def linted(self, view: Visible, *, self_retrieval: bool) -> Linted:
        """What lint says of the tools of `view`, as if there were no others.

        Raises:
            TooBusyError: another catalog, or this one, is being looked at.
            EmbeddingError: the embedder failed.
        """
        key = view.fingerprint, self_retrieval
        known = self._known(key)
        if known is not None:
            return known
        if not self._running.acquire(blocking=False):
            raise TooBusyError
        try:
            known = self._known(key)
            if known is None:
                known = self._found(view, self_retrieval=self_retrieval)
                self._kept[key] = known
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return known
        finally:
            self._running.release()

    def _known(self, key: _Key) -> Linted | None:
        return self._kept.get(key)

    def _found(self, view: Visible, *, self_retrieval: bool) -> Linted:
        index = view.index
        if view.mask is not None:
            hidden = (name for row, name in enumerate(index.columns.names) if not view.mask[row])
            index = index.without(*hidden)
        return Linted(lint(index.catalog, index=index, embedder=self._embedder if self_retrieval else None))
