"""The OpenAPI document: what of it holds for many operations, and no route tells."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from toolsearch.api.problem import PROBLEM_TYPE, Problem
from toolsearch.server.answers import IF_NONE_MATCH
from toolsearch.server.edge import REQUEST_ID, is_public
from toolsearch.server.idempotency import HEADER, REPLAYED, takes_key
from toolsearch.tools import JsonObject

SCHEME = "key"
"""The name of the security scheme of API keys."""

_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key. A service without any key answers its own machine without one.",
}
_PARAMETERS = {
    HEADER: {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": "Has the request carried out once within a day; sent again it gets the same answer.",
        "schema": {"type": "string", "pattern": r"^[\x21-\x7e]{1,200}$"},
    }
}
_HEADERS = {
    "ETag": {"description": "The version of what there is.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds after which to ask again, where that may help.",
        "schema": {"type": "integer", "minimum": 1},
    },
    REPLAYED: {
        "description": "The answer was given before, to the same idempotency key.",
        "schema": {"type": "string", "const": "true"},
    },
    REQUEST_ID: {"description": "Names the request in the logs.", "schema": {"type": "string"}},
}


class DescribedApi(FastAPI):
    """An application whose OpenAPI document is `completed`."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = completed(super().openapi())
        return self.openapi_schema


def problems() -> dict[int | str, dict[str, Any]]:
    """How every operation may answer with a problem."""
    content = {PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}
    return {
        "4XX": {"description": "The request is at fault.", "content": content},
        "5XX": {"description": "The service is at fault.", "content": content},
    }


def completed(document: JsonObject) -> JsonObject:
    """`document` with the security scheme, and with headers of requests and answers, which it changes."""
    components = document.setdefault("components", {})
    components["securitySchemes"] = {SCHEME: _SCHEME}
    components["parameters"] = _PARAMETERS
    components["headers"] = _HEADERS
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["security"] = [] if is_public(path) else [{SCHEME: []}]
            _complete(operation, keyed=takes_key(method.upper(), path))
    return document


def _complete(operation: JsonObject, *, keyed: bool) -> None:
    parameters, responses = operation.setdefault("parameters", []), operation["responses"]
    is_versioned = any(parameter.get("name") == IF_NONE_MATCH for parameter in parameters)
    if keyed:
        parameters.append({"$ref": f"#/components/parameters/{HEADER}"})
    if is_versioned and "requestBody" not in operation and "200" in responses:
        responses["304"] = {"description": "The client has this version."}
    for status, response in responses.items():
        names = [REQUEST_ID]
        if status in {"4XX", "5XX"}:
            names.append("Retry-After")
        elif is_versioned and (status == "304" or "content" in response):
            names.append("ETag")
        if keyed and status[0] in "24":
            names.append(REPLAYED)
        headers = response.setdefault("headers", {})
        headers.update({name: {"$ref": f"#/components/headers/{name}"} for name in names})
