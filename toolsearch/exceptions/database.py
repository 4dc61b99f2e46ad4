"""Errors of PostgreSQL databases; none of them tells a password."""

from __future__ import annotations

from toolsearch.exceptions.base import ToolSearchError


class DatabaseError(ToolSearchError):
    """A PostgreSQL database that cannot be used; `database` names it, without its password."""

    def __init__(self, database: str, reason: str, *, remedy: str = "") -> None:
        self.database = database
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"Database {database!r} {reason}.{remedy and ' '}{remedy}")


class DatabaseUnreachableError(DatabaseError):
    """It does not answer, or not in time; it may do so in a moment."""


class SchemaVersionError(DatabaseError):
    """Its tables are those of another release: of version `found`, where `needed` is read."""

    def __init__(self, database: str, *, found: int, needed: int) -> None:
        self.found = found
        self.needed = needed
        if found > needed:
            reason = f"has schema {found}, and this release knows none above {needed}"
            remedy = "Install the release that upgraded it, or a newer one."
        else:
            reason = f"has schema {found}, not {needed} as this release needs" if found else "has no tables"
            remedy = (
                "Make them: toolsearch db upgrade --database postgresql://…, with the address that was given"
            )
        super().__init__(database, reason, remedy=remedy)


class CatalogChangedError(ToolSearchError):
    """The stored catalog is no longer the one that a change was made of."""

    def __init__(self) -> None:
        super().__init__("Somebody else has changed the catalog meanwhile. Make the change again.")
