"""`MemberRules`: which members of the bodies of requests stay here, and which are set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from toolsearch.globs import Globs, is_glob
from toolsearch.tools import JsonObject

CONVERSATION = frozenset({"model", "messages", "input", "tools", "stream"})
"""Members that searches are made of, which no rule changes."""


class MemberRules:
    """Rules for the members at the top of a body; letters count in either case, as some readers take them."""

    def __init__(self, *, drop: Iterable[str] = (), put: Iterable[str] = ()) -> None:
        """`drop` are names or globs, `put` are ``NAME=JSON``.

        Raises:
            ValueError: one that cannot be used; names it.
        """
        dropped = [_droppable(rule) for rule in drop]
        self._put = dict(map(_member, put))
        self._dropped = Globs(dropped)
        self._any = bool(dropped or self._put)

    def __bool__(self) -> bool:
        return self._any

    def applied(self, request: JsonObject, *, sets: bool = True) -> JsonObject:
        """`request` by these rules, itself where they change nothing; without `sets` they only drop."""
        put = self._put if sets else {}
        own = {name.casefold() for name in put}
        kept: JsonObject = {}
        for name, value in request.items():
            folded = name.casefold()
            if folded in CONVERSATION or not (folded in own or self._dropped.fits(folded)):
                kept[name] = value
            elif name in put:
                # In its place, as members in their order may be what a provider has in its cache.
                kept[name] = put[name]
        kept.update(put)
        return request if json.dumps(kept) == json.dumps(request) else kept


def _droppable(rule: str) -> str:
    if rule.casefold() in CONVERSATION:
        raise ValueError(f"{rule!r} is what a search is made of. Name other members to drop.")
    return rule.casefold()


def _member(rule: str) -> tuple[str, Any]:
    name, sign, text = rule.partition("=")
    try:
        value = json.loads(text)
    except ValueError:
        sign = ""
        value = None
    if not (name and sign) or is_glob(name):
        raise ValueError(f"{rule!r} sets no member. Give NAME=JSON, such as 'temperature=0' or 'user=\"x\"'.")
    if name.casefold() in CONVERSATION:
        raise ValueError(f"{name!r} is what a search is made of. Set another member.")
    return name, value
