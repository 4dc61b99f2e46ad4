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
    """Tools in the order of their names; `next_cursor` leads to the next ones, `total` counts all.

    Attributes:
        tools: Of this page.
        total: How many there are on all pages.
        next_cursor: Leads to the next page; None on the last one.
    """

    tools: tuple[ToolEntry, ...]
    total: int
    next_cursor: str | None = None


Severity: TypeAlias = Literal["skipped", "conflict", "mended"]


class UploadIssue(Answered):
    """A definition that was left out, or mended. Lines count from 1.

    Attributes:
        line: Where it stands; None where nobody can say.
        tool: Its name, as far as it has one.
        severity: How grave it is.
        reason: What is wrong with it.
    """

    line: int | None = None
    tool: str = ""
    severity: str = ""
    reason: str = ""


class UploadReport(Answered):
    """What an upload changed: numbers of tools, and what was wrong with some.

    Attributes:
        read: Definitions that were found.
        added: Tools that are new.
        changed: Tools that are others now.
        unchanged: Tools that are as they were.
        removed: Tools that are gone.
        issues: Definitions that were left out, or mended.
        fingerprint: Of the catalog now.
    """

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
        report: What was changed, in the last line.
        problem: What went wrong, in the last line.
        done, total: How many of how many tools.
    """

    stage: str
    done: int = 0
    total: int = 0
    report: UploadReport | None = None
    problem: JsonObject | None = None


class SourceEntry(Answered):
    """A tool source: its name, how many tools it has, and what sending all of them costs.

    Attributes:
        name: Of the source.
        fingerprint: Changes with any tool of it that the caller may know of; the ``ETag`` of the source.
        tools: How many it has.
        tokens: What sending all of them costs.
    """

    name: str
    fingerprint: str
    tools: int
    tokens: int


class SourceList(Answered):
    """The sources of the catalog.

    Attributes:
        sources: By name.
    """

    sources: tuple[SourceEntry, ...]


class TagEntry(Answered):
    """A tag, and how many tools have it.

    Attributes:
        name: The tag.
        tools: How many have it.
    """

    name: str
    tools: int


class TagList(Answered):
    """The tags of the catalog.

    Attributes:
        tags: By name.
    """

    tags: tuple[TagEntry, ...]


class CatalogEntry(Answered):
    """A catalog, as far as the caller may know of it.

    Attributes:
        fingerprint: Changes with any tool that the caller may know of; the ``ETag`` of the catalog.
        name: Of the catalog.
        tools: How many it has.
        tokens: What sending all of them costs.
        sources: By name.
        embedder_id: Of the encoder that it was embedded with.
        vectors: How these are kept and searched.
    """

    name: str
    fingerprint: str
    tools: int
    tokens: int
    sources: tuple[str, ...]
    embedder_id: str
    vectors: str


class CatalogList(Answered):
    """The catalogs of the service.

    Attributes:
        catalogs: There is one.
    """

    catalogs: tuple[CatalogEntry, ...]


class Definitions(Answered):
    """Definitions in a form, as a request of a model's provider or a file holds them.

    Attributes:
        tokens: Counted in the form of OpenAI's chat completions, so that it compares with other figures.
        form_tokens: Of `tools` as compact JSON, hence in this form; only where single tools were asked for.
        form: That of `tools`.
        tools: In their order.
    """

    form: str
    tools: Any
    tokens: int
    form_tokens: int | None = None
