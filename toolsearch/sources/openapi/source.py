"""`OpenApiSource`: the operations of an OpenAPI document as tools that call them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

import httpx

from toolsearch.checks import check_collection, check_known, check_number, check_whole
from toolsearch.exceptions import CatalogFileError, DefinitionError
from toolsearch.functions.data import tool_from_schema
from toolsearch.http.address import http_url
from toolsearch.http.guard import AddressRules, host_of, private_hosts
from toolsearch.messages import ToolResult
from toolsearch.sources.documents import Document, parse_documents, read_documents
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.openapi.document import OpenApiDocument, is_openapi
from toolsearch.sources.openapi.names import source_name
from toolsearch.sources.openapi.operations import OperationEntry, ReadingOptions, read_operations
from toolsearch.sources.openapi.security import Credentials, scheme_names
from toolsearch.sources.openapi.servers import variable_names
from toolsearch.sources.openapi.service import OpenApiService, World
from toolsearch.sources.remote import fetch, is_url, run_apart
from toolsearch.tools import JsonObject, Tool

MAX_RESULT_BYTES = 100_000
"""Of an answer: some 25,000 tokens, which is more than a conversation has room for twice."""
TIMEOUT_S = 30.0


class OpenApiSettings(TypedDict, total=False):
    """How the operations of a document are called.

    Attributes:
        source: The tool source; by default made of the document's title.
        server: The URL of the server, in place of those that the document names.
        variables: Values of the document's server variables, in place of their defaults.
        credentials: For security schemes, the environment variables that hold their credentials; by default
            ``SOURCE_SCHEME`` in capitals, such as ``PETSTORE_API_KEY``.
        headers: Sent with every request.
        allow_hosts: Hosts that may be asked beside the servers of the document, as of a redirect.
        allow_private: Hosts that may have addresses which are not public: see `AddressRules`.
        timeout_s: Seconds that a call may take.
        max_result_bytes: Of an answer no more is read.
        transport: Asked in place of the network, once the host is allowed; no names are resolved then.
        environment: In place of the process's.
    """

    source: str
    server: str
    variables: Mapping[str, str]
    credentials: Mapping[str, str]
    headers: Mapping[str, str]
    allow_hosts: Iterable[str]
    allow_private: Iterable[str]
    timeout_s: float
    max_result_bytes: int
    transport: httpx.AsyncBaseTransport | None
    environment: Mapping[str, str]


def load_openapi(location: Path | str, **settings: Unpack[OpenApiSettings]) -> OpenApiSource:
    """The tools of the OpenAPI document at a path or an http URL, which is waited for.

    Raises:
        CatalogFileError: it cannot be had or read, or as `OpenApiSource`.
        TypeError, ValueError: as `OpenApiSource`.
    """
    if is_url(location):
        return run_apart(OpenApiSource.from_url(str(location), **settings))
    return OpenApiSource.from_file(location, **settings)


class OpenApiSource:
    """The operations of a document, as a `ToolSource`. An operation that cannot be used is named in `issues`.

    Calls go to the servers of the document and nowhere else, at public addresses alone unless the
    configuration says otherwise. What a service answers, right or wrong, is a result; an exception comes only
    of arguments that cannot be sent (`ToolArgumentsError`) and of a call that takes too long.

    Attributes:
        name: The tool source of its tools.
        issues: What was wrong with the document, by operation, in its order.
    """

    def __init__(
        self,
        value: JsonObject,
        path: str = "openapi",
        *,
        base: str = "",
        document: Document | None = None,
        **settings: Unpack[OpenApiSettings],
    ) -> None:
        """Reads the document; sends nothing yet.

        Args:
            value: The document, as JSON.
            path: What errors and issues call it.
            base: Its URL, which relative URLs of servers follow.
            document: Knows the lines of `value`.
            settings: See `OpenApiSettings`.

        Raises:
            CatalogFileError: it is no OpenAPI document of a known version, or none of its operations can be
                used.
            TypeError, ValueError: a setting that cannot be meant, such as a scheme that is not in it.
        """
        if not is_openapi(value):
            raise CatalogFileError(path, "is no OpenAPI document: it has no 'openapi' or 'swagger'")
        parsed = OpenApiDocument.of(value, path)
        value = parsed.value
        _check(parsed, settings)
        self.name = settings.get("source") or source_name(parsed.title)
        self._timeout_s = settings.get("timeout_s", TIMEOUT_S)
        server = settings.get("server", "")
        reading = ReadingOptions(self.name, server, settings.get("variables"), base)
        entries = list(read_operations(value, path, reading))
        urls = {entry.operation.server: _server(entry) for entry in entries if entry.operation is not None}
        self.issues = tuple(_issues(entries, path, document, urls))
        good = [entry for entry in entries if entry.operation and urls[entry.operation.server] is not None]
        if entries and not good:
            raise CatalogFileError(
                path, f"no operation of it can be used. The first: {self.issues[0].reason}"
            )
        hosts = [host_of(url) for url in urls.values() if url is not None]
        self._service = _service(self.name, hosts, [server, base], settings)
        self._tools = tuple(self._tool(entry) for entry in good)

    @classmethod
    def from_file(cls, path: Path | str, **settings: Unpack[OpenApiSettings]) -> Self:
        """The tools of a JSON or YAML file.

        Raises:
            CatalogFileError: it cannot be read, or as the class.
            TypeError, ValueError: as the class.
        """
        document = _single(list(read_documents(str(path))), path)
        return cls(document.value, str(path), document=document, **settings)

    @classmethod
    async def from_url(cls, url: str, **settings: Unpack[OpenApiSettings]) -> Self:
        """The tools of the JSON or YAML document at `url`, by the same rules as calls.

        Raises:
            CatalogFileError: it cannot be had or read, or as the class.
            TypeError, ValueError: as the class.
        """
        private = settings.get("allow_private", ())
        fetched = await fetch(url, allow_private=private, transport=settings.get("transport"))
        document = _single(list(parse_documents(fetched.shown, fetched.content)), fetched.shown)
        return cls(document.value, fetched.shown, base=fetched.shown, document=document, **settings)

    def __repr__(self) -> str:
        return f"OpenApiSource({self.name!r}, {len(self._tools)} tools)"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._service.aclose()

    def list_tools(self) -> tuple[Tool, ...]:
        """The tools, in the document's order."""
        return self._tools

    def _tool(self, entry: OperationEntry) -> Tool:
        listed, operation, inputs = entry.tool, entry.operation, entry.inputs
        # The entries that are kept have all three.
        assert isinstance(listed, Tool) and operation is not None and inputs is not None  # noqa: S101, PT018
        name = listed.name

        async def call(arguments: JsonObject) -> ToolResult:
            return await self._service.call(name, operation, inputs, arguments)

        return tool_from_schema(
            call,
            name=listed.raw_name,
            input_schema=listed.input_schema,
            output_schema=listed.output_schema,
            timeout_s=self._timeout_s,
            source=listed.source,
            description=listed.description,
            tags=listed.tags,
            read_only=listed.read_only,
            destructive=listed.destructive,
            meta=listed.meta,
        )


def _single(documents: list[Document], path: Path | str) -> Document:
    if len(documents) != 1:
        raise CatalogFileError(path, f"holds {len(documents)} documents; one of OpenAPI stands alone")
    return documents[0]


def _check(document: OpenApiDocument, settings: OpenApiSettings) -> None:
    check_number("timeout_s", settings.get("timeout_s", TIMEOUT_S))
    check_whole("max_result_bytes", settings.get("max_result_bytes", MAX_RESULT_BYTES))
    check_known("security scheme", settings.get("credentials", {}), sorted(scheme_names(document)))
    check_known("server variable", settings.get("variables", {}), sorted(variable_names(document.value)))
    check_collection("allow_hosts", settings.get("allow_hosts", ()))
    check_collection("allow_private", settings.get("allow_private", ()))
    if settings.get("server"):
        server = http_url(settings["server"])
        if server.userinfo or server.query or server.fragment:
            # What it holds is not repeated, for it may be a secret.
            raise ValueError(
                "The server's URL may have no user, password, query or fragment. Credentials belong into the "
                "environment variables of security schemes (credentials=), or into headers=."
            )


def _server(entry: OperationEntry) -> httpx.URL | None:
    """The server of an operation; None where it is no http URL with a host."""
    try:
        return http_url(entry.operation.server) if entry.operation is not None else None
    except ValueError:
        return None


def _issues(
    entries: Iterable[OperationEntry],
    path: str,
    document: Document | None,
    urls: Mapping[str, httpx.URL | None],
) -> Iterator[LoadIssue]:
    for entry in entries:
        line = None if document is None else document.line_of(entry.path)
        if isinstance(entry.tool, DefinitionError):
            yield LoadIssue(path, line, entry.tool.tool, "error", entry.tool.reason)
            continue
        if entry.operation is not None and urls[entry.operation.server] is None:
            reason = "it names no server with a host. Give one, as server='https://api.example.com'."
            yield LoadIssue(path, line, entry.tool.raw_name, "error", reason)
        for message in entry.mended:
            yield LoadIssue(path, line, entry.tool.raw_name, "mended", message)


def _service(
    source: str, hosts: Iterable[str], named: Iterable[str], settings: OpenApiSettings
) -> OpenApiService:
    """What sends requests to `hosts`; `named` are URLs that whoever configures this has written."""
    written = [host for url in named if url for host in private_hosts(http_url(url))]
    rules = AddressRules(
        [*hosts, *settings.get("allow_hosts", ())], private=[*written, *settings.get("allow_private", ())]
    )
    environment = settings.get("environment", os.environ)
    return OpenApiService(
        rules,
        Credentials(source, settings.get("credentials", {}), environment),
        headers={"User-Agent": "toolsearch", **settings.get("headers", {})},
        max_bytes=settings.get("max_result_bytes", MAX_RESULT_BYTES),
        world=World(settings.get("transport")),
    )
