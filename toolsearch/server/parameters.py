"""Query parameters that no operation has are refused, rather than passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from toolsearch.naming import near_names

if TYPE_CHECKING:
    from fastapi.dependencies.models import Dependant

_BELOW = "/v1/"
_SHOWN = 100


async def check_parameters(request: Request) -> None:
    """Does nothing where the operation has every query parameter of the request.

    What is not of the API, such as the page and the probes, takes any.

    Raises:
        RequestValidationError: names each that it lacks, and those that may have been meant.
    """
    route = request.scope.get("route")
    if not request.scope["query_string"] or not isinstance(route, APIRoute):
        return
    if not route.path_format.startswith(_BELOW):
        return
    known = sorted(_known(route.dependant))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise RequestValidationError([_fault(name, known) for name in unknown])


def _known(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _known(inner)


def _fault(name: str, known: list[str]) -> dict[str, object]:
    near = near_names(name[:_SHOWN], known)
    if near:
        told = f"Did you mean {', '.join(map(repr, near))}?"
    elif known:
        told = f"There are {', '.join(map(repr, known))}."
    else:
        told = "There are none."
    return {"type": "unknown_parameter", "loc": ("query", name[:_SHOWN]), "msg": f"No such parameter. {told}"}
