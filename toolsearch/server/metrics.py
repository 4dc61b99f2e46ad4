"""`Metrics`: counts and times of requests in the text format of Prometheus.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4).
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "(other)"


@dataclass
class _Times:
    total_s: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS_S) + 1))


class Metrics:
    """What this process has answered. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, _Times] = {}

    def answered(self, method: str, route: str, status: int, took_s: float) -> None:
        """Count a request; `route` is the template of its path, so that there are few of them.

        A client may make up methods, which count as one.
        """
        with self._lock:
            key = method if method in _METHODS else _OTHER, route, status
            self._requests[key] = self._requests.get(key, 0) + 1
            times = self._times.setdefault(route, _Times())
            times.total_s += took_s
            times.buckets[bisect_left(_BOUNDS_S, took_s)] += 1

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it, and `gauges`: values by name, each with what it means."""
        with self._lock:
            lines = [*self._request_lines(), *self._time_lines()]
        for name, (meaning, value) in gauges.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join((*lines, ""))

    def _request_lines(self) -> Iterable[str]:
        name = "toolsearch_requests_total"
        yield f"# HELP {name} Requests answered."
        yield f"# TYPE {name} counter"
        for (method, route, status), n in sorted(self._requests.items()):
            yield f'{name}{{method="{method}",route="{_escaped(route)}",status="{status}"}} {n}'

    def _time_lines(self) -> Iterable[str]:
        name = "toolsearch_request_seconds"
        yield f"# HELP {name} Seconds from a request to the end of its answer."
        yield f"# TYPE {name} histogram"
        for route, times in sorted(self._times.items()):
            label, n = f'route="{_escaped(route)}"', 0
            for bound, count in zip((*map(str, _BOUNDS_S), "+Inf"), times.buckets, strict=True):
                n += count
                yield f'{name}_bucket{{{label},le="{bound}"}} {n}'
            yield f"{name}_sum{{{label}}} {times.total_s:.6f}"
            yield f"{name}_count{{{label}}} {n}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
