"""``allOf`` of objects as one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolsearch.tools import JsonObject

_MERGED = frozenset({"additionalProperties", "properties", "required", "type"})
_ANNOTATIONS = frozenset({"default", "deprecated", "description", "examples", "title", "writeOnly"})


def is_mergeable(schema: Mapping[str, object]) -> bool:
    """Whether this is an object by its members alone, open to more of them."""
    return (
        schema.keys() <= _MERGED | _ANNOTATIONS
        and schema.get("type", "object") == "object"
        and schema.get("additionalProperties", True) is True
        and isinstance(schema.get("properties", {}), dict)
        and isinstance(schema.get("required", []), list)
    )


def merged(parts: Iterable[JsonObject]) -> JsonObject:
    """The object that has all members of `parts`, each of which `is_mergeable`, in their order.

    A member that several describe has to be what each of them says. Annotations are those of the last part
    that has some.
    """
    result: JsonObject = {"type": "object", "properties": {}}
    required: dict[str, None] = {}
    for part in parts:
        result |= {key: value for key, value in part.items() if key in _ANNOTATIONS}
        required |= dict.fromkeys(part.get("required", ()))
        for name, schema in part.get("properties", {}).items():
            known = result["properties"].get(name)
            both = schema if known is None or known == schema else {"allOf": [known, schema]}
            result["properties"][name] = both
    if required:
        result["required"] = list(required)
    return result
