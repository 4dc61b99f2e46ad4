"""Every reference of a schema checked, and what it leads to brought among the schema's own definitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from toolsearch.schema.drafts import modern_ref
from toolsearch.schema.keywords import subschemas
from toolsearch.schema.refs import as_ref, json_path, ref_steps, target_of, unusable
from toolsearch.tools import JsonObject


def gather_definitions(
    tool_name: str, root: JsonObject, mend: Callable[[JsonObject, str], JsonObject]
) -> None:
    """Make every ``$ref`` of `root` lead to one of its subschemas, in place.

    A definition that stands elsewhere, such as ``components`` of an OpenAPI document, is mended by `mend`,
    which takes a schema and its JSON path, and put under ``$defs``.

    Raises:
        SchemaError: a reference that leads nowhere.
    """
    moved: dict[str, str] = {}
    known: set[int] = set()
    todo: list[tuple[str, Any]] = [("$", root)]
    referring: deque[tuple[str, JsonObject]] = deque()
    while todo or referring:
        while todo:
            path, schema = todo.pop()
            if not isinstance(schema, dict):
                continue
            known.add(id(schema))
            if "$ref" in schema:
                referring.append((path, schema))
            todo.extend((json_path(path, *steps), part) for steps, part in subschemas(schema))
        if not referring:
            return
        path, schema = referring.popleft()
        target = _target(tool_name, root, path, schema)
        if isinstance(target, bool) or id(target) in known:
            continue
        ref = schema["$ref"]
        if ref not in moved:
            definitions = root.setdefault("$defs", {})
            name = _free_name(ref_steps(ref)[-1], definitions)
            place = json_path("$", "$defs", name)
            definitions[name] = mend(target, place)
            moved[ref] = as_ref(("$defs", name))
            todo.append((place, definitions[name]))
        schema["$ref"] = moved[ref]


def _target(tool_name: str, root: JsonObject, path: str, schema: JsonObject) -> Any:
    target = target_of(root, schema["$ref"])
    if target is None:
        schema["$ref"] = modern_ref(schema["$ref"])
        target = target_of(root, schema["$ref"])
    if target is None:
        raise unusable(tool_name, f"{path}.$ref", f"{schema['$ref']!r} leads nowhere")
    return target


def _free_name(wanted: str, taken: JsonObject) -> str:
    name, n = wanted, 2
    while name in taken:
        name, n = f"{wanted}_{n}", n + 1
    return name
