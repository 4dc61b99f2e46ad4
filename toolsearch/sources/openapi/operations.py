"""`read_operations`: the operations of a document as tools, good or bad."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from toolsearch.exceptions import DefinitionError
from toolsearch.formats.base import readable_text
from toolsearch.formats.bounded import MAX_DESCRIPTION, cut_description
from toolsearch.formats.registry import Entry
from toolsearch.schema import check_schema
from toolsearch.schema.keywords import is_text
from toolsearch.sources.openapi.arguments import Inputs, merge_inputs
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.sources.openapi.media import read_body
from toolsearch.sources.openapi.model import Operation, Parameter
from toolsearch.sources.openapi.names import operation_names, source_name
from toolsearch.sources.openapi.parameters import read_parameters, stated_parameters
from toolsearch.sources.openapi.requests import path_variables
from toolsearch.sources.openapi.responses import accepted, output_schema
from toolsearch.sources.openapi.schemas import SchemaReader
from toolsearch.sources.openapi.security import read_security
from toolsearch.sources.openapi.servers import is_telling, server_url
from toolsearch.tools import JsonObject, Tool

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
# No fragment, nor what would end the URL or its host.
_PLAIN_PATH = re.compile(r"/(?![/\\])[^\s#\\]*")
READING = frozenset({"get", "head", "options", "trace", "query"})


@dataclass(frozen=True)
class OperationEntry(Entry):
    """An operation as a tool, and how to call it; both are None where `tool` is an error."""

    operation: Operation | None = None
    inputs: Inputs | None = None


@dataclass(frozen=True)
class ReadingOptions:
    """What a document does not say of itself.

    Attributes:
        source: The tool source; empty for the document's title.
        server: The URL of the server, in place of those that the document names.
        variables: Values of server variables.
        base: The URL of the document, which relative URLs of servers follow.
    """

    source: str = ""
    server: str = ""
    variables: Mapping[str, str] | None = None
    base: str = ""


@dataclass(frozen=True)
class _Place:
    path: str
    method: str
    path_item: JsonObject
    node: Any

    def at(self, value: JsonObject) -> tuple[str, ...]:
        """Where in the document this stands; for a path that is a reference, where that is."""
        stated = value["paths"][self.path]
        is_here = isinstance(stated, dict) and self.method in stated
        return ("paths", self.path, self.method) if is_here else ("paths", self.path)


def read_operations(
    value: JsonObject, path: str, options: ReadingOptions = ReadingOptions()
) -> Iterator[OperationEntry]:
    """Every operation of the document `value`, read from `path`, in its order, good or bad.

    Raises:
        CatalogFileError: a version of OpenAPI that is not read here.
    """
    document = OpenApiDocument.of(value, path)
    source = options.source or source_name(document.title)
    places = list(_places(document))
    names = operation_names([(place.method, place.path, place.node) for place in places])
    for place, (name, note) in zip(places, names, strict=True):
        at = place.at(document.value)
        try:
            entry = _read(document, source, options, place, name)
        except DefinitionError as exc:
            yield OperationEntry(at, DefinitionError(name, exc.reason))
        except RecursionError:
            yield OperationEntry(at, DefinitionError(name, "it is nested too deeply."))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as exc:
            # Whatever a hostile document provokes must not end the others.
            reason = f"it cannot be read ({type(exc).__name__}: {exc!s:.200})."
            yield OperationEntry(at, DefinitionError(name, reason))
        else:
            yield replace(entry, path=at, mended=(*((note,) if note else ()), *entry.mended))


def _places(document: OpenApiDocument) -> Iterator[_Place]:
    paths = document.value.get("paths", {})
    for path, node in paths.items():
        if path.startswith("x-"):
            continue
        try:
            item = document.resolved(path, node, "a path")
        except DefinitionError:
            # Reported as one operation, for nobody knows how many it would have been.
            yield _Place(path, "get", {}, node)
            continue
        methods = [method for method in METHODS if method in item]
        if not methods and not path.startswith("/"):
            # Reported, as it is no path that anything could stand at.
            yield _Place(path, "get", item, {})
        for method in methods:
            yield _Place(path, method, item, item[method])


def _read(
    document: OpenApiDocument, source: str, options: ReadingOptions, place: _Place, name: str
) -> OperationEntry:
    operation = document.resolved(name, place.node, "an operation")
    stated = stated_parameters(document, name, place.path_item, operation)
    security = read_security(document, name, operation)
    keys = {(scheme.kind, scheme.parameter.casefold()) for way in security for scheme in way}
    schemas = SchemaReader(document, name)
    parameters = tuple(
        replace(each, schema=schemas.read(each.schema))
        for each in read_parameters(document, name, stated)
        # A key is the program's to send and no model's to know.
        if (each.location, each.name.casefold()) not in keys
    )
    _check_path(name, place.path, parameters)
    body = read_body(document, name, operation, stated, schemas)
    inputs = merge_inputs(parameters, body, schemas)
    checked = check_schema(name, inputs.schema)
    inputs = replace(inputs, schema=checked.schema)
    owners = (operation, place.path_item, document.value)
    server = options.server.rstrip("/") or server_url(
        document, name, owners, variables=options.variables or {}, base=options.base
    )
    if is_telling(server):
        raise DefinitionError(
            name, "its server's URL holds a user or a password. Give server= without one, and credentials."
        )
    called = Operation(
        method=place.method.upper(),
        path=place.path,
        server=server,
        parameters=parameters,
        body=body,
        security=security,
        accept=accepted(document, name, operation),
    )
    mended = [f"input_schema: {message}" for message in (*schemas.mended, *checked.mended)]
    tool = Tool(
        raw_name=name,
        source=source,
        description=_description(operation, place, mended),
        input_schema=inputs.schema,
        output_schema=output_schema(document, name, operation),
        tags=tuple(
            dict.fromkeys(tag for tag in _list(operation.get("tags")) if is_text(tag) and tag.strip())
        ),
        read_only=place.method in READING,
        destructive=True if place.method == "delete" else False if place.method in READING else None,
        meta=_meta(place, operation),
    )
    return OperationEntry((), tool, tuple(mended), called, inputs)


def _check_path(name: str, path: str, parameters: tuple[Parameter, ...]) -> None:
    if not path.startswith("/"):
        raise DefinitionError(name, f"its path {path!r:.60} must begin with a slash.")
    if any(unquote(segment) in {".", ".."} for segment in path.split("/")) or not _PLAIN_PATH.fullmatch(path):
        raise DefinitionError(name, f"its path {path!r:.60} leads elsewhere than it says.")
    known = {each.name for each in parameters if each.location == "path"}
    wanted = set(path_variables(path))
    for variable in sorted(wanted - known):
        raise DefinitionError(name, f"its path has {{{variable}}}, but no parameter of that name.")
    for variable in sorted(known - wanted):
        raise DefinitionError(name, f"it has a path parameter {variable!r:.60}, which its path lacks.")


def _description(operation: JsonObject, place: _Place, mended: list[str]) -> str:
    summary, about = (
        next(
            (
                text.strip()
                for owner in (operation, place.path_item)
                if isinstance(text := owner.get(key), str)
            ),
            "",
        )
        for key in ("summary", "description")
    )
    whole = about if about.startswith(summary) else f"{_sentence(summary)}\n{about}".strip()
    whole = whole or f"{place.method.upper()} {place.path}"
    if operation.get("deprecated") is True:
        whole = f"Deprecated. {whole}".strip()
    whole = readable_text("description", whole, mended)
    cut = cut_description(whole)
    if cut != whole:
        mended.append(f"description: cut after {MAX_DESCRIPTION} of {len(whole)} characters")
    return cut


def _sentence(text: str) -> str:
    return f"{text}." if text and re.search(r"[\w)\"'`]$", text) else text


def _meta(place: _Place, operation: JsonObject) -> JsonObject:
    told: JsonObject = {"method": place.method.upper(), "path": place.path}
    if is_text(operation.get("operationId")):
        told["operation_id"] = operation["operationId"]
    if operation.get("deprecated") is True:
        told["deprecated"] = True
    return {"openapi": told}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
