"""The forms by name, and reading and writing with the form found by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from toolsearch.exceptions import DefinitionError
from toolsearch.formats.anthropic import ANTHROPIC
from toolsearch.formats.base import Format, JsonValue
from toolsearch.formats.detect import Found, Path, find_definitions
from toolsearch.formats.gemini import GEMINI
from toolsearch.formats.langchain import LANGCHAIN
from toolsearch.formats.mcp import MCP
from toolsearch.formats.openai_chat import OPENAI_CHAT
from toolsearch.formats.openai_responses import OPENAI_RESPONSES
from toolsearch.formats.own import OWN
from toolsearch.formats.pydantic_ai import PYDANTIC_AI
from toolsearch.tools import JsonObject, Tool

_IN_ORDER_OF_DETECTION = (
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    MCP,
    PYDANTIC_AI,
    LANGCHAIN,
    GEMINI,
    ANTHROPIC,
    OWN,
)

FORMATS: Mapping[str, Format] = MappingProxyType({form.name: form for form in _IN_ORDER_OF_DETECTION})
"""Every form by name, the most telling first."""


@dataclass(frozen=True)
class Entry:
    """One definition of a JSON value: a tool, or the error that keeps it from being one.

    Attributes:
        path: Keys and positions from the top of the JSON value to the definition.
        tool: The tool, or why there is none.
        mended: One message a change that reading it took.
    """

    path: Path
    tool: Tool | DefinitionError
    mended: tuple[str, ...] = ()


def format_named(name: str) -> Format:
    """The form of that name.

    Raises:
        ValueError: there is none; lists those that there are.
    """
    if name not in FORMATS:
        raise ValueError(f"Unknown form {name!r}. Choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def read_entries(data: JsonValue, *, source: str = "", form: str | None = None) -> Iterator[Entry]:
    """Every definition in `data`, in its order, good or bad; a bad one does not stop the others.

    `source` is the tool source of definitions that name none. Without `form` each record's own keys say
    which form it has.
    """
    chosen = None if form is None else format_named(form)
    for found in find_definitions(data):
        try:
            yield _read(found, source, chosen)
        except DefinitionError as exc:
            yield Entry(found.path, exc)
        except RecursionError:
            yield Entry(found.path, DefinitionError(_label(found.path), "it is nested too deeply."))


def read_tools(data: JsonValue, *, source: str = "", form: str | None = None) -> list[Tool]:
    """The tools of `data`: one definition, a list, a request body, a ``tools/list`` result and the like.

    Raises:
        DefinitionError: for the first definition that cannot be used.
    """
    tools = []
    for entry in read_entries(data, source=source, form=form):
        if isinstance(entry.tool, DefinitionError):
            raise entry.tool
        tools.append(entry.tool)
    return tools


def write_tools(tools: Iterable[Tool], form: str) -> JsonValue:
    """The tools in that form, in their order, as a request, a result or a file holds them.

    Forms of model providers carry the public name and what the provider accepts; the module of each form
    says what it cannot carry.
    """
    return format_named(form).write(list(tools))


def _read(found: Found, source: str, chosen: Format | None) -> Entry:
    record = found.record
    if not isinstance(record, dict):
        raise DefinitionError(_label(found.path), f"a tool definition is a JSON object, not {record!r:.60}.")
    form = chosen or (FORMATS[found.form] if found.form else _detect(record, found.path))
    reading = form.read(record, found.source or source)
    tool = reading.tool
    if found.about:
        tool = replace(tool, meta={**tool.meta, "source_description": found.about})
    return Entry(found.path, tool, reading.mended)


def _detect(record: JsonObject, path: Path) -> Format:
    for form in _IN_ORDER_OF_DETECTION:
        if form.matches(record):
            return form
    kind = record.get("type")
    label = str(record.get("name") or kind or _label(path))
    if isinstance(kind, str) and kind != "function":
        raise DefinitionError(
            label,
            f"a tool of type {kind!r} is run by its provider, or takes no JSON arguments.",
        )
    raise DefinitionError(label, f"in no known form: its keys are {', '.join(map(str, record)) or 'none'}.")


def _label(path: Path) -> str:
    return (
        "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "(top)"
    )
