"""`TrustGuard` lets through what is approved; `GuardedSource` is a tool source behind one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolsearch.sources.base import ToolSource
from toolsearch.tools import Tool
from toolsearch.trust.file import TrustFile
from toolsearch.trust.policy import Policy, TrustPolicy
from toolsearch.trust.record import TrustRecord
from toolsearch.trust.review import Review, TrustFinding, review

_log = logging.getLogger(__name__)


class TrustGuard:
    """Passes tools through `review` against a trust file, and keeps in it what they are. Safe to share."""

    def __init__(self, path: Path | str, policy: Policy | TrustPolicy = "hold") -> None:
        """Reads nothing yet.

        Args:
            path: The trust file; it is made when there is something to keep.
            policy: What becomes of definitions that nobody has approved.

        Raises:
            ValueError: an unknown policy.
        """
        self.file = TrustFile(Path(path))
        self.policy = TrustPolicy.of(policy)

    def admit(self, source: str, tools: Sequence[Tool]) -> Review:
        """What becomes of `tools`, all that `source` lists now. What is new about them is kept and logged.

        Raises:
            TrustError, OSError: as `TrustFile.update`.
        """

        def reviewed(record: TrustRecord) -> tuple[TrustRecord, Review]:
            done = review(record, source, tools, self.policy)
            return done.record, done

        before = self.file.load()
        done = self.file.update(reviewed)
        for finding in done.findings:
            if _is_news(before, finding):
                # Neither the text of a stranger nor its name as it is goes into a log.
                _log.warning(
                    "Tool %r of %r: %s, %s (approved %s, listed %s).",
                    finding.tool,
                    finding.source,
                    finding.situation,
                    "held" if finding.held else "used",
                    finding.approved[:12] or "none",
                    finding.proposed[:12],
                )
        return done

    def __call__(self, source: str, before: Sequence[Tool], now: Sequence[Tool]) -> tuple[Tool, ...]:
        """The tools that may be used, of those that a server lists `now`: what `McpServers` takes as `admit`.

        Raises:
            TrustError, OSError: as `admit`.
        """
        del before
        return self.admit(source, now).admitted

    def state(self) -> object:
        """Another value once the file is another, so that what was decided by it is decided anew."""
        return self.file.state()

    def guarded(self, source: ToolSource) -> GuardedSource:
        """`source` with only the tools that may be used."""
        return GuardedSource(source, self)


class GuardedSource:
    """The admitted tools of a `ToolSource`, which is one itself.

    Each list is reviewed, by what `Tool.source` says. `findings` are those of the last.
    """

    def __init__(self, source: ToolSource, guard: TrustGuard) -> None:
        self._source = source
        self._guard = guard
        self.findings: tuple[TrustFinding, ...] = ()

    @property
    def name(self) -> str:
        return self._source.name

    def list_tools(self) -> Iterable[Tool]:
        """The tools that may be used, in the source's order.

        Raises:
            TrustError, OSError: as `TrustGuard.admit`.
        """
        tools = list(self._source.list_tools())
        reviews = admit_all(self._guard, tools)
        self.findings = tuple(finding for done in reviews for finding in done.findings)
        admitted = {id(tool) for done in reviews for tool in done.admitted}
        return [tool for tool in tools if id(tool) in admitted]


def admit_all(guard: TrustGuard, tools: Iterable[Tool]) -> list[Review]:
    """A review for each source of `tools`, in the order of the alphabet."""
    by_source: dict[str, list[Tool]] = {}
    for tool in tools:
        by_source.setdefault(tool.source, []).append(tool)
    return [guard.admit(source, by_source[source]) for source in sorted(by_source)]


def _is_news(before: TrustRecord, finding: TrustFinding) -> bool:
    entry = before.sources.get(finding.source, {}).get(finding.tool)
    known = None if entry is None else entry.proposed or entry.approved
    return known is None or known.digest != finding.proposed
