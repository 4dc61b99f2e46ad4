"""Whether a tool that is called by its name comes first, however the name is written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.embedding import RememberingEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.naming import SEPARATOR, split_words
from toolsearch.retrieval.base import SearchRequest
from toolsearch.tools import JsonObject, Tool

PER_SET = 100

FORMS: Mapping[str, Callable[[Tool], str]] = {
    "as it is": lambda tool: tool.raw_name,
    "public name": lambda tool: tool.name,
    "server.name": lambda tool: f"{tool.source}.{tool.raw_name}",
    "server__name": lambda tool: f"{tool.source}{SEPARATOR}{tool.raw_name}",
    "UPPER CASE": lambda tool: tool.raw_name.upper(),
    "lower case": lambda tool: tool.raw_name.lower(),
    "snake_case": lambda tool: "_".join(_words(tool)),
    "kebab-case": lambda tool: "-".join(_words(tool)),
    "camelCase": lambda tool: "".join(word.title() if i else word for i, word in enumerate(_words(tool))),
}

QUALIFIED = frozenset({"server.name", "server__name"})


def names(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """How often the first hit is the tool that is named, for each way to write its name."""
    outcomes: dict[str, list[bool]] = {form: [] for form in FORMS}
    for dataset in datasets:
        searcher = make_retriever("hybrid", dataset.catalog, embedder)
        for tool in sample(dataset):
            for form, text in forms_of(tool):
                (first,) = searcher.search(SearchRequest(queries=(text,), k=1)).hits[:1] or (None,)
                outcomes[form].append(first is not None and is_called(first.tool, tool, form))
    return {
        "title": "Called by name",
        "text": (
            f"{PER_SET} tools of each set at most, asked for by name alone. Several tools of a set may share "
            "a name; right is a first hit of that name, of that server too where it is named, and aside from "
            "case and separators where the name is rewritten."
        ),
        "columns": ["written", "requests", "hit rate@1"],
        "rows": [
            [form, len(right), round(sum(right) / len(right), 4)] for form, right in outcomes.items() if right
        ],
    }


def sample(dataset: Dataset) -> list[Tool]:
    """Some tools of the catalog, always the same."""

    def key(tool: Tool) -> str:
        return hashlib.sha256(tool.name.encode()).hexdigest()

    return sorted(dataset.catalog.values(), key=key)[:PER_SET]


def forms_of(tool: Tool) -> Iterator[tuple[str, str]]:
    """Every way to write the tool's name, as (form, text)."""
    for form, write in FORMS.items():
        if (tool.source or form not in QUALIFIED) and _words(tool):
            yield form, write(tool)


def is_called(found: Tool, called: Tool, form: str) -> bool:
    """Whether `found` is what a request for `called` in this form means."""
    if form == "public name":
        return found.name == called.name
    if form in QUALIFIED and found.source != called.source:
        return False
    if form == "as it is" or form in QUALIFIED:
        return found.raw_name == called.raw_name
    return "".join(_words(found)) == "".join(_words(called))


def _words(tool: Tool) -> list[str]:
    return [word.casefold() for word in split_words(tool.raw_name)]
