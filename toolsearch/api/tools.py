"""Tools, sources and catalogs."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict

from toolsearch.api.base import Answered
from toolsearch.tools import JsonObject

_EXAMPLE: dict[str, Any] = {
    "name": "mail__send_email",
    "digest": "b5bb9d8014a0f9b1d61e21e796d78dcc",
    "tokens": 58,
    "definition": {
        "name": "send_email",
        "server": "mail",
        "description": "Send an email to one or more people.",
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    },
}


class ToolEntry(Answered):
    """A tool of the catalog.

    Attributes:
        name: Its public name.
        digest: Changes with anything that is stored of the tool; the ``ETag`` of the tool.
        tokens: What sending its definition to a model costs.
        definition: In our own form; its ``name`` is the one that the source knows.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str
    digest: str
    tokens: int
    definition: JsonObject


class ToolPage(Answered):
    """Tools in the order of their names; `next_cursor` leads to the next ones, `total` counts all."""

    tools: tuple[ToolEntry, ...]
    total: int
    next_cursor: str | None = None


Severity: TypeAlias = Literal["skipped", "conflict", "mended"]


class UploadIssue(Answered):
    """A definition that was left out, or mended. Lines count from 1."""

    line: int | None = None
    tool: str = ""
    severity: str = ""
    reason: str = ""


class UploadReport(Answered):
    """What an upload changed: numbers of tools, and what was wrong with some."""

    read: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    issues: tuple[UploadIssue, ...] = ()
    fingerprint: str = ""


class UploadProgress(Answered):
    """A line of an upload that tells how far it is; `report` stands in the last one.

    Attributes:
        stage: ``read``, ``embed``, ``save``, then ``done``; or ``failed``, with the `problem`.
    """

    stage: str
    done: int = 0
    total: int = 0
    report: UploadReport | None = None
    problem: JsonObject | None = None


class SourceEntry(Answered):
    """A tool source: its name, how many tools it has, and what sending all of them costs."""

    name: str
    tools: int
    tokens: int


class SourceList(Answered):
    sources: tuple[SourceEntry, ...]


class TagEntry(Answered):
    """A tag, and how many tools have it."""

    name: str
    tools: int


class TagList(Answered):
    tags: tuple[TagEntry, ...]


class CatalogEntry(Answered):
    """A catalog, as far as the caller may know of it.

    Attributes:
        fingerprint: Changes with any tool that the caller may know of; the ``ETag`` of the catalog.
    """

    name: str
    fingerprint: str
    tools: int
    tokens: int
    sources: tuple[str, ...]
    embedder_id: str
    vectors: str


class CatalogList(Answered):
    catalogs: tuple[CatalogEntry, ...]


class Definitions(Answered):
    """Definitions in a form, as a request of a model's provider or a file holds them.

    Attributes:
        tokens: Counted in the form of OpenAI's chat completions, so that it compares with other figures.
        form_tokens: Of `tools` as compact JSON, hence in this form; only where single tools were asked for.
    """

    form: str
    tools: Any
    tokens: int
    form_tokens: int | None = None
