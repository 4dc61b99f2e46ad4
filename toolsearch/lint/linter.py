"""All checks over a catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.given import Tools
from toolsearch.index.tool_index import ToolIndex
from toolsearch.lint import (
    descriptions,
    hidden_text,
    instructions,
    load_issues,
    names,
    other_tools,
    self_retrieval,
    similar,
    stuffing,
)
from toolsearch.lint.finding import Finding, Rule, in_order
from toolsearch.sources.files import LoadIssue
from toolsearch.tools import Tool

RULES: tuple[Rule, ...] = (
    load_issues.FILE_UNREADABLE,
    load_issues.DEFINITION_UNUSABLE,
    load_issues.DEFINITION_MENDED,
    load_issues.DEFINITION_REPEATED,
    instructions.OVERRIDE,
    instructions.SECRECY,
    instructions.CONSENT,
    instructions.EXFILTRATION,
    instructions.PREEMPTION,
    hidden_text.HIDDEN_TEXT,
    hidden_text.INVISIBLE_CHARACTER,
    hidden_text.HIDDEN_MARKUP,
    hidden_text.ENCODED_BLOB,
    other_tools.OTHER_TOOL_ORDERS,
    stuffing.RANK_STUFFING,
    names.NAME_LOOKALIKE,
    names.NAME_BUILT_IN,
    names.NAME_COLLISION,
    names.NAME_REFUSED,
    names.NAME_TOO_LONG,
    names.NAME_CHANGED,
    names.NAME_SHARED,
    descriptions.DESCRIPTION_MISSING,
    descriptions.DESCRIPTION_SHORT,
    descriptions.DESCRIPTION_REPEATS_NAME,
    descriptions.DESCRIPTION_LONG,
    descriptions.TEXT_LONG,
    descriptions.TEXT_UNREVIEWABLE,
    descriptions.PARAMETER_UNDESCRIBED,
    descriptions.SCHEMA_OVERSIZED,
    similar.SAME_TEXT,
    similar.NEAR_DUPLICATE,
    self_retrieval.NOT_SELF_RETRIEVED,
)
"""Every rule; the codes are stable between releases."""

_ToolCheck: TypeAlias = Callable[[Tool], Iterator[Finding]]
_TEXT_CHECKS: tuple[_ToolCheck, ...] = (
    instructions.check_instructions,
    hidden_text.check_hidden_text,
    stuffing.check_repetition,
    names.check_lookalikes,
    descriptions.check_texts,
)
_TOOL_CHECKS: tuple[_ToolCheck, ...] = (
    *_TEXT_CHECKS,
    descriptions.check_whole,
    descriptions.check_description,
    descriptions.check_parameters,
    descriptions.check_size,
)
_CATALOG_CHECKS: tuple[Callable[[Catalog], Iterator[Finding]], ...] = (
    names.check_names,
    other_tools.check_orders,
    similar.check_same_text,
)


def lint_texts(tool: Tool) -> tuple[Finding, ...]:
    """What in the texts of one tool tries to steer a model, hides, or is too long to review; gravest first.

    For tools as they arrive, before there is a catalog: nothing is compared with other tools. What is beyond
    all measure is only said to be so, as reading a megabyte with every pattern takes seconds.
    """
    unreviewable = tuple(descriptions.check_whole(tool))
    if unreviewable:
        return unreviewable
    findings = [finding for check in _TEXT_CHECKS for finding in check(tool)]
    said = descriptions.check_description(tool)
    findings += [f for f in said if f.code == descriptions.DESCRIPTION_LONG.code]
    return in_order(findings)


def lint_catalog(
    catalog: Tools,
    *,
    issues: Iterable[LoadIssue] = (),
    index: ToolIndex | None = None,
    embedder: Embedder | None = None,
) -> tuple[Finding, ...]:
    """What should be looked at in `catalog`, gravest first, then by code and tool.

    Args:
        issues: Of reading the catalog; they are passed on as findings.
        index: An index of the same catalog; without it near-duplicates are not looked for.
        embedder: The one of `index`; without it tools are not searched by their own descriptions.

    Raises:
        ValueError: `index` is of another catalog.
        EmbeddingError: the embedder failed.
    """
    catalog = Catalog.of(catalog)
    findings = list(load_issues.load_findings(issues))
    for tool in catalog.values():
        for check in _TOOL_CHECKS:
            findings += check(tool)
    for check_all in _CATALOG_CHECKS:
        findings += check_all(catalog)
    if index is not None:
        if index.catalog.fingerprint != catalog.fingerprint:
            raise ValueError("The index is of another catalog than the one to look at.")
        findings += similar.check_near_duplicates(index)
        if embedder is not None:
            findings += self_retrieval.check_self_retrieval(index, embedder)
    return in_order(findings)
