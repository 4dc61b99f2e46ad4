"""API keys: what each may do, and which tools it may know of."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Name
from toolsearch.api.scopes import KeyScope

_Names = Annotated[tuple[Name, ...], Field(max_length=1000)]


class NewKey(Asked):
    """A key to make.

    Attributes:
        scopes: What it may do; ``admin`` includes the others.
        tenant: Whose sessions, feedback and usage it sees; by default its own.
        sources: Only tools of these sources; None for all.
        allow, deny: Globs over public names, raw names and ``source/raw_name``; deny wins.
        name: What it is for.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "operator", "scopes": ["admin"]},
                {"name": "support bot", "scopes": ["search"], "sources": ["mail", "crm"]},
            ]
        }
    )

    name: Name
    scopes: Annotated[frozenset[KeyScope], Field(min_length=1)] = frozenset({KeyScope.SEARCH})
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:~-]{0,128}$")] = ""
    sources: _Names | None = None
    allow: _Names | None = None
    deny: _Names = ()


class KeyEntry(Answered):
    """A key without its secret.

    Attributes:
        id: To revoke it by.
        name: What it is for.
        scopes: What it may do; ``admin`` includes the others.
        tenant: Whose sessions, feedback and usage it sees.
        sources: Only tools of these sources; None for all.
        created_at: In seconds since 1970.
        allow, deny: Globs over public names, raw names and ``source/raw_name``; deny wins.
    """

    id: str
    name: str
    scopes: tuple[KeyScope, ...]
    tenant: str
    sources: tuple[str, ...] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    created_at: float


class MadeKey(Answered):
    """A key with its secret, which is shown this once and cannot be had again.

    Attributes:
        key: What it may do.
        secret: To be sent as ``Authorization: Bearer SECRET``.
    """

    key: KeyEntry
    secret: Annotated[str, Field(repr=False)]


class KeyList(Answered):
    """The keys that there are.

    Attributes:
        keys: The oldest first.
    """

    keys: tuple[KeyEntry, ...]
