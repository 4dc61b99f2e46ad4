"""Wire models of whether the service lives and can search, and of where things are."""

from __future__ import annotations

from typing import Literal

from toolsearch.api.base import Answered


class Alive(Answered):
    """The process lives.

    Attributes:
        status: ``alive``.
    """

    status: Literal["alive"] = "alive"


class Ready(Answered):
    """A search has an answer; `database` only where there is a PostgreSQL one.

    Attributes:
        status: That it is ready.
        database: Whether the PostgreSQL database answers, or is away; None without one.
    """

    status: Literal["ready"] = "ready"
    database: Literal["answers", "away"] | None = None


class Places(Answered):
    """Where page, API and document are; `page` only where there is one.

    Attributes:
        service: What this is.
        api: Begins the paths of the API.
        document: Where the OpenAPI document is.
        page: Where the page for people is; None where there is none.
    """

    service: Literal["toolsearch"] = "toolsearch"
    api: Literal["/v1"] = "/v1"
    document: Literal["/openapi.json"] = "/openapi.json"
    page: Literal["/ui"] | None = None
