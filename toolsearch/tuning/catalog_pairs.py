"""Training examples of a catalog alone: parts of a tool's own text, asked for by other parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from toolsearch.document import MAX_DESCRIPTION, render_document
from toolsearch.naming import split_words
from toolsearch.schema import parameter_fields
from toolsearch.tools import Tool
from toolsearch.tuning.pairs import Example, PairSource, tool_source

_SHORTEST_QUERY = 2
_LONGEST_QUERY = 300
_VALUES = 2


def catalog_source(name: str, tools: Sequence[Tool], *, weight: float = 1.0) -> PairSource:
    """The tools with up to five examples each, of what their texts say.

    - the first sentence of the description, against the rest: name, parameters, other sentences
    - the same as an order ("Gets the forecast." becomes "get the forecast")
    - the words of the name, against description and parameters
    - the name with a parameter's description or with a value that it may take, against the description

    What is asked with is left out of the document, so that nothing is learned from repeating it.
    """
    source = tool_source(name, tools, weight=weight)
    examples = [example for row, tool in enumerate(tools) for example in tool_examples(tool, row)]
    return replace(source, examples=tuple(examples))


def held_out_tools(
    name: str, tools: Sequence[Tool], *, share: float, seed: int
) -> tuple[set[int], PairSource]:
    """Rows of tools to leave out of training, and a source that measures on them.

    It asks by the first sentence of each of them, over all tools; none of the documents has its own first
    sentence. Only tools that say something without it are asked for.
    """
    split = [first_sentence(tool.description) for tool in tools]
    able = [row for row, (first, rest) in enumerate(split) if rest and len(first.split()) > _SHORTEST_QUERY]
    n = round(share * len(able))
    rows = sorted(int(row) for row in np.random.default_rng(seed).permutation(able)[:n])
    shortened = [replace(tool, description=rest) for tool, (_, rest) in zip(tools, split, strict=True)]
    source = tool_source(name, shortened)
    keys = tool_source(name, tools).keys
    examples = tuple(Example(imperative(split[row][0]), (row,)) for row in rows)
    return set(rows), replace(source, keys=keys, examples=examples)


def tool_examples(tool: Tool, row: int) -> list[Example]:
    """The examples of one tool; none where it says too little."""
    made: dict[str, Example] = {}
    for asked, rest in _splits(tool):
        query = " ".join(asked.split())[:_LONGEST_QUERY]
        if len(query.split()) >= _SHORTEST_QUERY:
            made.setdefault(query.lower(), Example(query, (row,), text=rest))
    return list(made.values())


def imperative(sentence: str) -> str:
    """The sentence as an order, where it reads as a statement about the tool; otherwise unchanged.

    >>> imperative("This tool retrieves the current weather.")
    'retrieve the current weather'
    >>> imperative("Allows you to send an email")
    'send an email'
    """
    text = _OPENING.sub("", sentence.strip()).rstrip(". ")
    verb, space, rest = text.partition(" ")
    base = _base_form(verb.lower())
    return f"{base}{space}{rest}" if base else text


def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence and the rest."""
    found = _SENTENCE_END.search(text)
    return (text[: found.end()].strip(), text[found.end() :].strip()) if found else (text.strip(), "")


def _splits(tool: Tool) -> Iterator[tuple[str, str]]:
    first, rest = first_sentence(tool.description)
    without_first = replace(tool, description=rest, search_hint="")
    says_more = bool(rest or tool.input_schema.get("properties") or len(split_words(tool.raw_name)) > 1)
    if first and says_more:
        document = render_document(without_first)
        yield first, document
        order = imperative(first)
        if order != first.rstrip("."):
            yield order, document
    if first:
        nameless = render_document(replace(tool, raw_name=_NAMELESS, source="")).partition(": ")[2]
        yield " ".join(split_words(tool.raw_name)), nameless
        bare = " ".join(tool.description.split())[:MAX_DESCRIPTION]
        yield from ((query, bare) for query in _parameter_queries(tool))


def _parameter_queries(tool: Tool) -> Iterator[str]:
    subject = " ".join(split_words(tool.raw_name))
    fields = parameter_fields(tool.input_schema)
    valued = [field for field in fields if any(value.isalpha() for value in field.enum)]
    for field in valued[:1]:
        words = " ".join(split_words(field.name))
        for value in [value for value in field.enum if value.isalpha()][:_VALUES]:
            yield f"{subject} {words} {value}"
    described = [field.description for field in fields if len(field.description.split()) >= 4]
    if described:
        yield f"{subject}: {first_sentence(described[0])[0]}"


def _base_form(verb: str) -> str:
    """The base form of a verb in the third person; empty where the word does not look like one."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _NO_VERBS or not re.fullmatch(r"[a-z]{3,}s", verb) or verb.endswith(("ss", "us", "is")):
        return ""
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1]


_NAMELESS = "tool"
_IRREGULAR = {"does": "do", "goes": "go", "has": "have"}
_NO_VERBS = frozenset(
    {"this", "its", "always", "options", "details", "settings", "items", "files", "users", "events"}
    | {"messages", "news", "tools", "records", "results", "access", "status", "less", "plus", "across"}
)
_OPENING = re.compile(
    r"^(?:(?:this|the)\s+(?:tool|function|api|endpoint|method|operation|action|command|service)\s+)?"
    r"(?:(?:is\s+used|can\s+be\s+used|used|use\s+this(?:\s+tool)?|allows?\s+(?:you|users?)|lets\s+you|"
    r"enables?\s+(?:you|users?))\s+(?:to\s+)?|"
    r"(?:returns?|provides?)\s+(?=the\s+ability)|helps?\s+(?:you\s+)?(?:to\s+)?)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[\w)\"'`][.!?])(?=\s+[\"'`(]?[^\W\d_a-z])|\n\s*\n|。")
