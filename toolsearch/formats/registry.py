"""The forms by name, and reading and writing with the form found by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from toolsearch.exceptions import DefinitionError
from toolsearch.formats.anthropic import ANTHROPIC
from toolsearch.formats.base import Format, JsonValue, readable_text, without_written
from toolsearch.formats.detect import MAX_STEPS, Found, Path, find_definitions
from toolsearch.formats.gemini import GEMINI
from toolsearch.formats.langchain import LANGCHAIN
from toolsearch.formats.mcp import MCP
from toolsearch.formats.openai_chat import OPENAI_CHAT
from toolsearch.formats.openai_responses import OPENAI_RESPONSES
from toolsearch.formats.own import OWN
from toolsearch.formats.pydantic_ai import PYDANTIC_AI
from toolsearch.given import Tools, as_tools
from toolsearch.schema.keywords import is_text
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
            named = exc if exc.tool else type(exc)(_place(found.path), exc.reason)
            yield Entry(found.path, named)
        except RecursionError:
            yield Entry(found.path, DefinitionError(_label(found), "it is nested too deeply."))
        except (ArithmeticError, LookupError, TypeError, ValueError) as exc:
            # Whatever a hostile definition provokes, in whichever library, must not end the others.
            reason = f"it cannot be read ({type(exc).__name__}: {exc!s:.200})."
            yield Entry(found.path, DefinitionError(_label(found), reason))


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


def write_tools(tools: Tools, form: str) -> JsonValue:
    """The tools in that form, in their order, as a request, a result or a file holds them.

    Forms of model providers carry the public name and what the provider accepts; the module of each form
    says what it cannot carry.

    Raises:
        ValueError: an unknown form.
        TypeError, DefinitionError: something that is no tool, and no function to make one of.
    """
    return format_named(form).write(list(as_tools(tools)))


def _read(found: Found, source: str, chosen: Format | None) -> Entry:
    record = found.record
    if len(found.path) > MAX_STEPS:
        raise DefinitionError(_label(found), "it is nested too deeply.")
    if not isinstance(record, dict):
        raise DefinitionError(
            _place(found.path), f"a tool definition is a JSON object, not {_brief(record)}."
        )
    source = found.source or source
    if not is_text(source):
        raise DefinitionError(_label(found), f"its server must be named by a string, not {_brief(source)}.")
    form = chosen or (FORMATS[found.form] if found.form else _detect(found))
    reading = form.read(record, source)
    tool, mended = _without_written(reading.tool)
    mended = [*reading.mended, *mended]
    if found.about:
        about = readable_text("the description of its namespace", found.about, mended)
        tool = replace(tool, meta={**tool.meta, "source_description": about})
    return Entry(found.path, tool, tuple(mended))


def _without_written(tool: Tool) -> tuple[Tool, list[str]]:
    """The tool without anything in `Tool.meta` that would stand where a form writes its fields."""
    mended = []
    for form in FORMATS.values():
        kept = tool.meta.get(form.name)
        if not isinstance(kept, dict):
            continue
        kept, dropped = without_written(kept, form.written)
        if dropped:
            tool = replace(tool, meta={**tool.meta, form.name: kept})
            mended += [f"{form.name}.{key}: left out, the tool itself says this" for key in dropped]
    return tool, mended


def _detect(found: Found) -> Format:
    record: JsonObject = found.record
    for form in _IN_ORDER_OF_DETECTION:
        if form.matches(record):
            return form
    kind = record.get("type")
    label = _label(found)
    if isinstance(kind, str) and kind != "function":
        raise DefinitionError(
            label,
            f"a tool of type {_brief(kind)} is run by its provider, or takes no JSON arguments.",
        )
    keys = ", ".join(map(str, record))
    raise DefinitionError(label, f"in no known form: its keys are {keys[:200] or 'none'}.")


def _label(found: Found) -> str:
    """The name of a definition, else what else tells it from others, else its place."""
    if isinstance(found.record, dict):
        for key in ("name", "type"):
            named = found.record.get(key)
            if isinstance(named, str) and named.strip() and (key, named) != ("type", "function"):
                return named[:100].encode("utf-8", "replace").decode()
    return _place(found.path)


def _place(path: Path) -> str:
    """Where a definition stands, in words: ``definition 3 of tools``."""
    *around, last = path or ("",)
    if not isinstance(last, int):
        return f"the definition in {last}" if last else "the definition"
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in around)
    return f"definition {last + 1} of {where.lstrip('.'):.60}" if around else f"definition {last + 1}"


def _brief(value: JsonValue) -> str:
    return f"{value!r:.60}".encode("utf-8", "replace").decode()
