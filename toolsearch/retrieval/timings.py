"""How long each stage of a search took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_TOTAL = "total"


class StageTimer:
    """Milliseconds by stage, in `ms`; a stage that is entered several times adds up."""

    def __init__(self, spent: Mapping[str, float] | None = None) -> None:
        """Starts now; `spent` is what `finish` gave of what came before."""
        self.ms = dict(spent or {})
        self._before_ms = self.ms.pop(_TOTAL, 0.0)
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the body towards `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.ms[name] = self.ms.get(name, 0.0) + (time.perf_counter() - started) * 1000

    def finish(self) -> dict[str, float]:
        """Milliseconds by stage, with the ``total`` since the timer was made and of what came before."""
        return {**self.ms, _TOTAL: self._before_ms + (time.perf_counter() - self._started) * 1000}
