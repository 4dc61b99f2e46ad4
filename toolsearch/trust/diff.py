"""What a tool says otherwise than when it was approved, line by line."""

from __future__ import annotations

from difflib import unified_diff

from toolsearch.trust.record import TrustEntry


def definition_diff(entry: TrustEntry) -> list[str]:
    """A unified diff from the approved definition to the one that is proposed; empty where there is none.

    Of a tool that was never approved, every line is new.
    """
    if entry.proposed is None:
        return []
    before = [] if entry.approved is None else entry.approved.lines()
    names = [
        "none" if definition is None else definition.digest[:12]
        for definition in (entry.approved, entry.proposed)
    ]
    return list(
        unified_diff(
            before, entry.proposed.lines(), f"approved {names[0]}", f"proposed {names[1]}", lineterm=""
        )
    )
