"""`DatabaseUrl`: where a PostgreSQL database is, shown without its password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import CoreSchema, core_schema

SCHEMES = ("postgresql://", "postgres://")

_UNTOLD = f"{SCHEMES[0]}…"


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

    @property
    def is_plain(self) -> bool:
        """Whether it can be read in one way only.

        It cannot where a password holds ``/`` or ``@`` as it is: libpq then takes part of it for the host,
        the port or the name.
        """
        # As libpq has it, who asks ends at an @ that stands before the first slash.
        given = self.text.partition("://")[2]
        asks = re.match(r"[^@/]*@", given)
        where = given[asks.end() if asks else 0 :].partition("?")[0]
        hosts = re.sub(r"\[[^\]]*\]", "", where.partition("/")[0])
        return "@" not in where and all(
            port.isdecimal() or not port for _, _, port in (host.partition(":") for host in hosts.split(","))
        )

    @property
    def is_without_secrets(self) -> bool:
        """Whether all of it may be shown; a doubtful one may not."""
        given = self.text.partition("://")[2]
        user = given.partition("@")[0] if "@" in given else ""
        return self.is_plain and ":" not in user and "pass" not in given.partition("?")[2].lower()

    def __str__(self) -> str:
        if not self.is_plain:
            where = self.text.rpartition("@")[2]
            # After a question mark the last @ may well be of a password, too.
            return f"{_UNTOLD}@{where}" if "@" in self.text and "?" not in self.text else _UNTOLD
        try:
            from psycopg.conninfo import conninfo_to_dict
            from psycopg.errors import Error
        except ImportError:
            return _UNTOLD
        try:
            parts = conninfo_to_dict(self.text)
        except Error:
            # What is wrong with it may well be in the password.
            return _UNTOLD
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
