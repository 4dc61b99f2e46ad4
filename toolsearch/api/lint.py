"""What lint says of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import ConfigDict

from toolsearch.api.base import Answered

LintSeverity: TypeAlias = Literal["error", "warning", "info"]


class LintFinding(Answered):
    """Something to know about a tool.

    Attributes:
        code: What kind of finding.
        severity: How grave it is.
        tool: The public name of the tool.
        message: What is wrong.
        hint: What to do about it.
    """

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
        findings: Of this page.
        next_cursor: Leads to the next page; None on the last one.
    """

    findings: tuple[LintFinding, ...]
    tools: int
    total: int
    severities: Mapping[str, int]
    codes: Mapping[str, int]
    next_cursor: str | None = None
