"""What reading the catalog files found, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolsearch.lint.finding import Finding, Rule
from toolsearch.sources.files import LoadIssue

DEFINITION_UNUSABLE = Rule(
    code="definition-unusable",
    severity="error",
    title="a definition that cannot be used",
    hint="Correct it; until then the tool is left out of the catalog.",
)
FILE_UNREADABLE = Rule(
    code="file-unreadable",
    severity="error",
    title="a file, or a part of one, that cannot be read",
    hint="Correct it; until then what it holds is not in the catalog.",
)
DEFINITION_MENDED = Rule(
    code="definition-mended",
    severity="warning",
    title="a definition that was mended to be usable",
    hint="Correct it at its source: other readers may refuse it or mend it otherwise.",
)
DEFINITION_REPEATED = Rule(
    code="definition-repeated",
    severity="info",
    title="a definition that is there twice",
    hint="Remove one of the two.",
)

_RULES = {"error": DEFINITION_UNUSABLE, "mended": DEFINITION_MENDED, "duplicate": DEFINITION_REPEATED}


def load_findings(issues: Iterable[LoadIssue]) -> Iterator[Finding]:
    """A finding for each issue, with the file and line that it is about."""
    for issue in issues:
        where = issue.path if issue.line is None else f"{issue.path}:{issue.line}"
        rule = _RULES[issue.severity] if issue.tool else FILE_UNREADABLE
        yield rule.finding(issue.tool, f"{where}: {issue.reason}")
