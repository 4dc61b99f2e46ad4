"""Where a ``$ref`` leads: within its own document and nowhere else."""

from __future__ import annotations

import re
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from toolsearch.exceptions import SchemaError
from toolsearch.schema.keywords import IN_PLACE_KEYWORDS, MAX_DEPTH, subschemas
from toolsearch.tools import JsonObject

Steps: TypeAlias = tuple[str | int, ...]
"""Keys and positions from a schema down to a part of it."""


_MAX_REASON = 300


def unusable(tool_name: str, path: str, reason: str) -> SchemaError:
    """The error for a place, as a JSON path, in the input schema of a tool; a very long reason is cut."""
    if len(reason) > _MAX_REASON:
        reason = f"{reason[:_MAX_REASON]}..."
    return SchemaError(tool_name, f"its input schema cannot be used: {path}: {reason}.")


def json_path(base: str, *steps: str | int) -> str:
    """`base` followed by `steps`: ``$.properties.unit``, ``$.anyOf[0]``, ``$['a b']``."""
    for step in steps:
        if isinstance(step, int):
            base += f"[{step}]"
        elif step.isidentifier() or (step.startswith("$") and step[1:].isidentifier()):
            base += f".{step}"
        else:
            base += f"[{step!r}]"
    return base


_POSITION = re.compile("[0-9]{1,9}")


def target_of(root: JsonObject, ref: str) -> Any:
    """What the JSON pointer ``#`` or ``#/...`` points to in `root`; None where it leads nowhere."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    place: Any = root
    for step in ref_steps(ref):
        if isinstance(place, dict) and step in place:
            place = place[step]
        elif isinstance(place, list) and _POSITION.fullmatch(step) and int(step) < len(place):
            place = place[int(step)]
        else:
            return None
    return place if isinstance(place, dict | bool) else None


def ref_steps(ref: str) -> list[str]:
    """The unescaped reference tokens of a JSON pointer in a fragment (RFC 6901, section 6)."""
    return [unquote(token).replace("~1", "/").replace("~0", "~") for token in ref[1:].split("/")[1:]]


def as_ref(steps: Steps) -> str:
    """The JSON pointer in a fragment that `ref_steps` reads back into `steps`."""
    escaped = (str(step).replace("~", "~0").replace("/", "~1").replace("%", "%25") for step in steps)
    return "#" + "".join(f"/{token}" for token in escaped)


def unending_ref(root: JsonObject) -> str | None:
    """A ``$ref`` that leads back to itself without going into the value, so that checking never ends.

    None where every recursion takes a step into the value, as in a tree of nodes.

    Raises:
        RecursionError: a chain of more than 128 references.
    """
    done: set[int] = set()

    def visit(schema: Any, ref: str | None, open_: frozenset[int]) -> str | None:
        if not isinstance(schema, dict) or id(schema) in done:
            return None
        if id(schema) in open_:
            return ref
        if len(open_) > 2 * MAX_DEPTH:
            raise RecursionError
        open_ |= {id(schema)}
        link = schema.get("$ref")
        if isinstance(link, str):
            found = visit(target_of(root, link), link, open_)
            if found is not None:
                return found
        for steps, part in subschemas(schema):
            if steps[0] in IN_PLACE_KEYWORDS:
                found = visit(part, ref, open_)
                if found is not None:
                    return found
        done.add(id(schema))
        return None

    stack: list[Any] = [root]
    while stack:
        schema = stack.pop()
        if isinstance(schema, dict):
            found = visit(schema, None, frozenset())
            if found is not None:
                return found
            stack.extend(part for _, part in subschemas(schema))
    return None


_ANCHORS = ("$anchor", "$dynamicAnchor")
_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMING = frozenset({"$anchor", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema", "$vocabulary"})


def localise(tool_name: str, root: JsonObject) -> JsonObject:
    """The schema with every reference as a JSON pointer from its root, and so without ``$id`` and anchors.

    A ``$dynamicRef`` or ``$recursiveRef`` becomes the ``$ref`` that it is in a single document.

    Raises:
        SchemaError: a reference to something outside of the document, which is never fetched.
    """
    localiser = _Localiser(tool_name)
    localiser.collect(root, (), "")
    return localiser.rewritten(root, (), "")


class _Localiser:
    def __init__(self, tool_name: str) -> None:
        self.tool_name = tool_name
        self.places: dict[str, Steps] = {"": ()}

    def collect(self, schema: Any, steps: Steps, base: str) -> None:
        """Note where each ``$id`` and anchor stands."""
        if not isinstance(schema, dict):
            return
        # A step into a list or a map of subschemas has two parts.
        if len(steps) > 2 * MAX_DEPTH:
            where = json_path("$", *steps[:6])
            raise unusable(self.tool_name, where, f"it is nested deeper than {MAX_DEPTH} levels")
        base = self._base(schema, steps, base)
        if isinstance(schema.get("$id"), str):
            self.places.setdefault(base, steps)
        for keyword in _ANCHORS:
            if isinstance(schema.get(keyword), str):
                self.places.setdefault(f"{base}#{schema[keyword]}", steps)
        for below, part in subschemas(schema):
            self.collect(part, steps + below, base)

    def rewritten(self, schema: JsonObject, steps: Steps, base: str) -> JsonObject:
        base = self._base(schema, steps, base)
        result = {keyword: value for keyword, value in schema.items() if keyword not in _NAMING}
        for keyword in _REFS:
            if keyword in result:
                result = {"$ref": self._local(result.pop(keyword), steps, base), **result}
        for below, part in subschemas(result):
            if isinstance(part, dict):
                put(result, schema, below, self.rewritten(part, steps + below, base))
        return result

    def _local(self, ref: Any, steps: Steps, base: str) -> str:
        where = json_path("$", *steps, "$ref")
        if not isinstance(ref, str):
            raise unusable(self.tool_name, where, f"a reference must be a string, not {ref!r:.60}")
        document, fragment = self._joined(base, ref, where)
        if document not in self.places:
            raise unusable(
                self.tool_name, where, f"{ref!r} is outside of this schema, and only what it holds is read"
            )
        if not fragment or fragment.startswith("/"):
            return as_ref(self.places[document]) + fragment
        if f"{document}#{fragment}" not in self.places:
            raise unusable(self.tool_name, where, f"{ref!r} leads nowhere")
        return as_ref(self.places[f"{document}#{fragment}"])

    def _base(self, schema: JsonObject, steps: Steps, base: str) -> str:
        name = schema.get("$id")
        return self._joined(base, name, json_path("$", *steps, "$id"))[0] if isinstance(name, str) else base

    def _joined(self, base: str, ref: str, where: str) -> tuple[str, str]:
        """The document and the fragment that `ref` means in the document `base`."""
        try:
            document, fragment = urldefrag(base + ref if ref.startswith("#") else urljoin(base, ref))
        except ValueError:
            raise unusable(self.tool_name, where, f"{ref!r:.60} is no URI") from None
        return document, fragment


def put(result: JsonObject, original: JsonObject, steps: Steps, part: Any) -> None:
    """Set a direct subschema of `result`, copying the list or dict it is in if `original` shares it."""
    keyword = str(steps[0])
    if len(steps) == 1:
        result[keyword] = part
        return
    if result[keyword] is original[keyword]:
        result[keyword] = original[keyword].copy()
    result[keyword][steps[1]] = part
