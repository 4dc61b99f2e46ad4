"""Who asks: the security schemes of a document, and credentials for them from the environment."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from toolsearch.exceptions import DefinitionError
from toolsearch.http.address import sendable
from toolsearch.naming import split_words
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.sources.openapi.model import Operation, SecurityScheme
from toolsearch.tools import JsonObject


def read_security(
    document: OpenApiDocument, tool: str, operation: JsonObject
) -> tuple[tuple[SecurityScheme, ...], ...]:
    """The ways into an operation: its own, or those of the document.

    Raises:
        DefinitionError: a way that names a scheme which the document does not have.
    """
    stated = operation.get("security", document.value.get("security"))
    if stated is None:
        return ()
    if not isinstance(stated, list) or not all(isinstance(way, dict) for way in stated):
        raise DefinitionError(tool, "its 'security' is no list of objects.")
    return tuple(tuple(_scheme(document, tool, name) for name in way) for way in stated)


def scheme_names(document: OpenApiDocument) -> frozenset[str]:
    """The names of all schemes of the document."""
    return frozenset(_schemes(document))


def variable_of(source: str, scheme: str) -> str:
    """The environment variable for a scheme where no other is named: ``PETSTORE_API_KEY``."""
    return "_".join(split_words(f"{source} {scheme}")).upper()


@dataclass(frozen=True)
class Proof:
    """What a request carries to be let in.

    Attributes:
        headers, query, cookies: To be sent; those of a query are percent-encoded.
        secrets: Every text of it that nobody may see.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: tuple[str, ...] = field(default=(), repr=False)
    cookies: tuple[str, ...] = field(default=(), repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


class Credentials:
    """Credentials by the environment variables that hold them, read when a request is made.

    A variable holds the key, the token, or ``user:password``.
    """

    def __init__(self, source: str, variables: Mapping[str, str], environment: Mapping[str, str]) -> None:
        """`variables` names those of schemes that have another one than `variable_of` gives."""
        self._source = source
        self._variables = dict(variables)
        self._environment = environment

    def proof(self, operation: Operation) -> Proof:
        """What the operation wants, by the first of its ways for which everything is there.

        Raises:
            LookupError: there is none, and nobody is let in without; says which variables to set.
            ValueError: a credential that no request can carry.
        """
        ways = [way for way in operation.security if way]
        usable = [way for way in ways if all(scheme.kind != "other" for scheme in way)]
        for way in usable:
            if all(map(self._value, way)):
                return _joined(
                    _proof_of(scheme, self._value(scheme), self._variable(scheme)) for scheme in way
                )
        if len(ways) < max(1, len(operation.security)):
            return Proof()
        missing = [
            " and ".join(self._variable(each) for each in way if not self._value(each)) for way in usable
        ]
        if not missing:
            raise LookupError("The service wants a kind of authentication that cannot be used here.")
        named = ", or ".join(dict.fromkeys(missing))
        raise LookupError(f"The service wants to know who asks. Set the environment variable {named}.")

    def _variable(self, scheme: SecurityScheme) -> str:
        return self._variables.get(scheme.name) or variable_of(self._source, scheme.name)

    def _value(self, scheme: SecurityScheme) -> str:
        return self._environment.get(self._variable(scheme), "").strip()


def _proof_of(scheme: SecurityScheme, value: str, variable: str) -> Proof:
    remedy = f"Check the environment variable {variable}."
    value = sendable(value, what=f"The credential for {scheme.name!r}", remedy=remedy)
    match scheme.kind:
        case "bearer":
            return Proof({"Authorization": f"Bearer {value}"}, secrets=(value,))
        case "basic":
            user, colon, password = value.partition(":")
            if not colon:
                raise ValueError(f"The credential for {scheme.name!r} must be user:password. {remedy}")
            encoded = base64.b64encode(value.encode()).decode()
            secrets = tuple(secret for secret in (value, password, user) if secret)
            return Proof({"Authorization": f"Basic {encoded}"}, secrets=secrets)
        case "query":
            return Proof(
                query=(f"{quote(scheme.parameter, safe='')}={quote(value, safe='')}",), secrets=(value,)
            )
        case "cookie":
            if re.search(r'[\s",;\\]', value):
                raise ValueError(f"The credential for {scheme.name!r} cannot be sent in a cookie. {remedy}")
            return Proof(cookies=(f"{scheme.parameter}={value}",), secrets=(value,))
        case _:
            return Proof({scheme.parameter: value}, secrets=(value,))


def _joined(proofs: Iterable[Proof]) -> Proof:
    whole = Proof()
    for each in proofs:
        whole = Proof(
            {**whole.headers, **each.headers},
            (*whole.query, *each.query),
            (*whole.cookies, *each.cookies),
            (*whole.secrets, *each.secrets),
        )
    return whole


def _schemes(document: OpenApiDocument) -> JsonObject:
    if document.is_swagger:
        found = document.value.get("securityDefinitions")
    else:
        components = document.value.get("components")
        found = components.get("securitySchemes") if isinstance(components, dict) else None
    return found if isinstance(found, dict) else {}


def _scheme(document: OpenApiDocument, tool: str, name: str) -> SecurityScheme:
    schemes = _schemes(document)
    if name not in schemes:
        raise DefinitionError(tool, f"its security scheme {name!r:.60} is not in the document.")
    stated = document.resolved(tool, schemes[name], f"security scheme {name!r:.60}")
    parameter = stated.get("name")
    match stated.get("type"), stated.get("in"):
        case "apiKey", ("header" | "query" | "cookie") as place if isinstance(parameter, str) and parameter:
            return SecurityScheme(name, place, parameter)
        case "basic", _:
            return SecurityScheme(name, "basic")
        case "http", _:
            return SecurityScheme(name, _HTTP_KINDS.get(str(stated.get("scheme")).casefold(), "other"))
        case (("oauth2" | "openIdConnect"), _):
            # However it was come by, an access token is sent as a bearer token (RFC 6750).
            return SecurityScheme(name, "bearer")
        case _:
            return SecurityScheme(name, "other")


_HTTP_KINDS: dict[str, Literal["bearer", "basic"]] = {"basic": "basic", "bearer": "bearer"}
