"""Where operations are served: the URL of a server, its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from toolsearch.exceptions import DefinitionError
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.tools import JsonObject

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_SCHEMES = ("https", "http")


def server_url(
    document: OpenApiDocument,
    tool: str,
    owners: tuple[JsonObject, ...],
    *,
    variables: Mapping[str, str],
    base: str,
) -> str:
    """The first server of the first of `owners` (operation, path, document) that names some.

    Args:
        document: What the operation is in.
        tool: For errors.
        owners: The most telling first.
        variables: Values of server variables, in place of their defaults.
        base: The URL of the document, which relative URLs follow; empty for none.

    Returns:
        A URL without a slash at its end; one without a host where neither the server nor `base` has one.

    Raises:
        DefinitionError: a server that is none, or a variable without a value that it may have.
    """
    if document.is_swagger:
        return _joined(base, _swagger_url(document.value, owners[0], base))
    for owner in owners:
        servers = owner.get("servers")
        if isinstance(servers, list) and servers:
            return _joined(base, _filled(tool, servers[0], variables))
    return _joined(base, "/")


def is_telling(url: str) -> bool:
    """Whether a server's URL holds a user or a password, which messages about its calls would repeat."""
    return "@" in re.split(r"[/?#\\]", url.partition("//")[2], maxsplit=1)[0]


def variable_names(value: JsonObject) -> frozenset[str]:
    """The names of all server variables of a document."""
    owners = [value]
    for path in value.get("paths", {}).values():
        if isinstance(path, dict):
            owners += [path, *(part for part in path.values() if isinstance(part, dict))]
    servers = [server for owner in owners for server in _list(owner.get("servers"))]
    variables = [server.get("variables") for server in servers if isinstance(server, dict)]
    return frozenset(name for each in variables if isinstance(each, dict) for name in each)


def _filled(tool: str, server: Any, variables: Mapping[str, str]) -> str:
    url = server.get("url") if isinstance(server, dict) else None
    if not isinstance(url, str):
        raise DefinitionError(tool, f"its server {server!r:.60} has no URL.")
    stated = server.get("variables")
    stated = stated if isinstance(stated, dict) else {}

    def value(found: re.Match[str]) -> str:
        name = found[1]
        about = stated.get(name)
        about = about if isinstance(about, dict) else {}
        chosen = variables.get(name, about.get("default"))
        if chosen is None:
            raise DefinitionError(tool, f"its server needs a value of {name!r}. Give it in variables.")
        allowed = about.get("enum")
        if isinstance(allowed, list) and allowed and chosen not in allowed:
            raise DefinitionError(
                tool, f"its server takes no {name!r} of {chosen!r:.60}, only {', '.join(map(str, allowed))}."
            )
        return str(chosen)

    return _VARIABLE.sub(value, url)


def _swagger_url(value: JsonObject, operation: JsonObject, base: str) -> str:
    path = value.get("basePath")
    path = path if isinstance(path, str) else "/"
    host = value.get("host")
    if not isinstance(host, str) or not host:
        return path
    stated = operation.get("schemes") or value.get("schemes") or [base.partition("://")[0]]
    scheme = next((each for each in _SCHEMES if each in _list(stated)), "https")
    return f"{scheme}://{host}/{path.lstrip('/')}"


def _joined(base: str, url: str) -> str:
    return (urljoin(base, url) if base else url).split("#")[0].split("?")[0].rstrip("/")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
