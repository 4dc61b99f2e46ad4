"""What lint says of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import ConfigDict

from toolsearch.api.base import Answered

LintSeverity: TypeAlias = Literal["error", "warning", "info"]


class LintFinding(Answered):
    """Something to know about a tool; see `toolsearch.lint.Finding`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "description-missing",
                    "severity": "warning",
                    "tool": "mail__send_email",
                    "message": "It has no description.",
                    "hint": "Say in a sentence what it does.",
                }
            ]
        }
    )

    code: str
    severity: LintSeverity
    tool: str
    message: str
    hint: str


class LintPage(Answered):
    """Findings, the gravest first.

    Attributes:
        tools: How many were looked at.
        total: How many findings the filters let through.
        severities, codes: How many of all findings each has; a code stands where it has any.
    """

    findings: tuple[LintFinding, ...]
    tools: int
    total: int
    severities: Mapping[str, int]
    codes: Mapping[str, int]
    next_cursor: str | None = None
