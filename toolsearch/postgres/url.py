"""`DatabaseUrl`: where a PostgreSQL database is, shown without its password."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_core import CoreSchema, core_schema

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class DatabaseUrl:
    """An address as libpq takes it, such as ``postgresql://user@host:5432/name?sslmode=require``.

    Attributes:
        text: All of it. `str` and `repr` leave the password out, and every option.
    """

    text: str = field(repr=False)

    @staticmethod
    def is_one(text: str) -> bool:
        """Whether `text` is an address and no path."""
        return text.startswith(SCHEMES)

    def __str__(self) -> str:
        try:
            from psycopg.conninfo import conninfo_to_dict
            from psycopg.errors import Error
        except ImportError:
            return f"{SCHEMES[0]}…"
        try:
            parts = conninfo_to_dict(self.text)
        except Error:
            # What is wrong with it may well be in the password.
            return f"{SCHEMES[0]}…"
        user = f"{parts['user']}@" if parts.get("user") else ""
        # Of several hosts without a port libpq gives as many commas.
        port = f":{parts['port']}" if str(parts.get("port") or "").strip(",") else ""
        return f"{SCHEMES[0]}{user}{parts.get('host') or ''}{port}/{parts.get('dbname') or ''}"

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """That of an instance, which is written as it is shown."""
        del source, handler
        return core_schema.is_instance_schema(
            cls, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )
