"""Tools whose annotations are text (PEP 563)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Optional

from pydantic import BaseModel

from toolsearch import tool

if TYPE_CHECKING:
    from toolsearch import ToolContext


@tool
def book(mode: Literal["bus", "rail"], seats: Optional[int] = None) -> str:  # noqa: UP045
    return f"{mode}:{seats}"


@tool
def whose(context: ToolContext) -> str:
    return context.tenant


@tool
def load(batch: Batch) -> str:
    return batch.rows[0].key


class Batch(BaseModel):
    rows: list[Row] = []


class Row(BaseModel):
    key: str


class Account:
    class Kind(BaseModel):
        code: str

    @tool
    def open(self, kind: Kind) -> str:
        return kind.code
