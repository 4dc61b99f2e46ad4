"""`Finding`: what lint says of a tool, and `Rule`: what all findings of one code have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolsearch.tools import JsonObject

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Gravest first: something must be done, should be done, may be as it is meant."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something to know about a tool.

    Attributes:
        code: Of the rule, such as ``near-duplicate``; stable between releases.
        tool: Its public name; the raw name or place where no tool came of the definition; empty where
            it is about a file.
        message: What was found, in a sentence.
        hint: What to do about it.
    """

    code: str
    severity: Severity
    tool: str
    message: str
    hint: str

    def to_json(self) -> JsonObject:
        return {
            "severity": self.severity,
            "code": self.code,
            "tool": self.tool,
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A kind of finding; `title` says in a few words what is wrong."""

    code: str
    severity: Severity
    title: str
    hint: str

    def finding(self, tool: str, message: str, *, severity: Severity | None = None) -> Finding:
        """A finding of this rule, graver or milder than usual where `severity` says so."""
        return Finding(
            code=self.code, severity=severity or self.severity, tool=tool, message=message, hint=self.hint
        )


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Gravest first, then by code and tool; findings that are equal in these stay in their order."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.code, f.tool)))


def shortened(items: Sequence[str], most: int = 5) -> str:
    """The first `most` of `items` in a row, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
