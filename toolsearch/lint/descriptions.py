"""What a tool and its parameters say about themselves: nothing, too little or too much."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolsearch.document import MAX_DESCRIPTION
from toolsearch.lint.finding import Finding, Rule, shortened
from toolsearch.lint.texts import tool_texts
from toolsearch.naming import split_words
from toolsearch.tokens import definition_tokens
from toolsearch.tools import Tool

MIN_WORDS = 3
MAX_CHARACTERS = 2000
"""More than 98 % of the descriptions of public MCP servers, of which the search reads the first 600."""
MAX_TOKENS = 1500
"""About ten times the median of public MCP servers and cloud APIs; one tool in 200 costs more."""

DESCRIPTION_MISSING = Rule(
    code="description-missing",
    severity="warning",
    title="no description",
    hint="Say in one or two sentences what the tool does and when to use it.",
)
DESCRIPTION_SHORT = Rule(
    code="description-short",
    severity="warning",
    title="a description of one or two words",
    hint="Say in a sentence or two what the tool does and when to use it.",
)
DESCRIPTION_REPEATS_NAME = Rule(
    code="description-repeats-name",
    severity="info",
    title="a description that only repeats the name",
    hint="Say what the name does not: on what, with which result, when to use it rather than another.",
)
DESCRIPTION_LONG = Rule(
    code="description-long",
    severity="warning",
    title="a very long description",
    hint=f"Begin with what the tool does: the search reads only {MAX_DESCRIPTION} characters.",
)
TEXT_LONG = Rule(
    code="text-long",
    severity="warning",
    title="a very long text of a parameter",
    hint="Cut it, or move it to the documentation: it is sent to the model, and nobody reviews so much.",
)
MAX_REVIEWED = 100_000
TEXT_UNREVIEWABLE = Rule(
    code="text-unreviewable",
    severity="error",
    title="more text than anybody reviews",
    hint="Do not trust the source before it says less: what is in there is not looked at any further.",
)
PARAMETER_UNDESCRIBED = Rule(
    code="parameter-undescribed",
    severity="info",
    title="parameters without description",
    hint="Say of each parameter what it means and in which form it is given.",
)
SCHEMA_OVERSIZED = Rule(
    code="schema-oversized",
    severity="warning",
    title="a definition that costs many tokens",
    hint="Split the tool, cut what models do not need, or move long lists of values to another tool.",
)


def check_description(tool: Tool) -> Iterator[Finding]:
    """Whether there is a description, and whether it says something in bearable length."""
    text = tool.description.strip()
    if not text:
        yield DESCRIPTION_MISSING.finding(tool.name, "It has no description.")
        return
    words = _words(text)
    if len(words) < MIN_WORDS:
        yield DESCRIPTION_SHORT.finding(tool.name, f"Its description is only {text!r}.")
    elif _folded(words) <= _folded(split_words(f"{tool.raw_name} {tool.source}")):
        yield DESCRIPTION_REPEATS_NAME.finding(tool.name, f"{text!r} says no more than {tool.raw_name!r}.")
    if len(text) > MAX_CHARACTERS:
        yield DESCRIPTION_LONG.finding(tool.name, f"Its description has {len(text):,} characters.")


def check_parameters(tool: Tool) -> Iterator[Finding]:
    """Which parameters have neither a description nor a title, nor a ``$ref`` to what may have one."""
    properties = tool.input_schema.get("properties") or {}
    silent = [
        name
        for name, schema in properties.items()
        if not isinstance(schema, dict) or not _says_something(schema)
    ]
    if silent:
        yield PARAMETER_UNDESCRIBED.finding(
            tool.name, f"{len(silent)} of {len(properties)} parameters say nothing: {shortened(silent)}."
        )


def check_texts(tool: Tool) -> Iterator[Finding]:
    """The longest text beside the description, where it has more than `MAX_CHARACTERS`."""
    others = ((len(text), where) for where, text in tool_texts(tool) if where != "description")
    length, where = max(others, default=(0, ""))
    if length > MAX_CHARACTERS:
        yield TEXT_LONG.finding(tool.name, f"Its {where:.100} has {length:,} characters.")


def check_whole(tool: Tool) -> Iterator[Finding]:
    """Whether all texts together have more than `MAX_REVIEWED` characters."""
    length = sum(len(text) for _, text in tool_texts(tool))
    if length > MAX_REVIEWED:
        yield TEXT_UNREVIEWABLE.finding(tool.name, f"Its texts have {length:,} characters.")


def check_size(tool: Tool) -> Iterator[Finding]:
    """Whether the definition costs more than `MAX_TOKENS` tokens."""
    tokens = definition_tokens(tool.definition)
    if tokens > MAX_TOKENS:
        yield SCHEMA_OVERSIZED.finding(tool.name, f"Its definition costs {tokens:,} tokens.")


# Chinese and the like write words without spaces; two characters make about one.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]{{1,2}}|[^\W_{_CJK}]+")


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _folded(words: list[str]) -> set[str]:
    """The words without case, articles and a plural s."""
    return {word.casefold().rstrip("s") for word in words} - {"a", "an", "the", "of", "to"}


def _says_something(schema: dict[str, object]) -> bool:
    parts = [schema, *(part for key in ("allOf", "anyOf", "oneOf") for part in _list(schema.get(key)))]
    keys = ("description", "title", "$ref", "const", "enum")
    return any(isinstance(part, dict) and any(part.get(key) for key in keys) for part in parts)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
