"""A schema without references, for model providers that do not follow them."""

from __future__ import annotations

from toolsearch.schema.keywords import MAX_DEPTH, subschemas
from toolsearch.schema.refs import put, target_of
from toolsearch.tools import JsonObject

ANNOTATIONS = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
MAX_PARTS = 10_000


def inline_refs(schema: JsonObject) -> JsonObject:
    """A copy in which every ``$ref`` is replaced by what it refers to, without ``$defs`` and ``definitions``.

    What stands beside a ``$ref`` survives: annotations, such as a description, win over those of the
    target; other keywords are added, or joined by ``allOf`` where the target says something else.
    A reference inside of its own target would never end: there the target's ``type`` and annotations
    stand alone, without its inner structure. The same goes for references more than 64 deep, and for all
    once the copy has 10,000 schemas, which only definitions that double at each step reach.

    Expects a schema from `check_schema`.
    """
    return _Inliner(schema).inlined(schema, ())


class _Inliner:
    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self.n_parts = 0

    def inlined(self, schema: JsonObject, open_refs: tuple[str, ...]) -> JsonObject:
        self.n_parts += 1
        if "$ref" in schema:
            return self._expanded(schema, open_refs)
        result = {k: v for k, v in schema.items() if k not in {"$defs", "definitions"}}
        for steps, part in subschemas(result):
            if isinstance(part, dict):
                put(result, schema, steps, self.inlined(part, open_refs))
        return result

    def _expanded(self, schema: JsonObject, open_refs: tuple[str, ...]) -> JsonObject:
        ref = schema["$ref"]
        target = target_of(self.root, ref)
        beside = self.inlined({k: v for k, v in schema.items() if k != "$ref"}, open_refs)
        if not isinstance(target, dict):
            return beside if target else {"not": {}, **beside}
        if ref in open_refs or len(open_refs) >= MAX_DEPTH or self.n_parts > MAX_PARTS:
            kept = {k: v for k, v in target.items() if k == "type" or k in ANNOTATIONS}
            return {**kept, **{k: v for k, v in beside.items() if k == "type" or k in ANNOTATIONS}}
        return _joined(self.inlined(target, (*open_refs, ref)), beside)


def _joined(target: JsonObject, beside: JsonObject) -> JsonObject:
    annotations = {k: v for k, v in beside.items() if k in ANNOTATIONS}
    limits = {k: v for k, v in beside.items() if k not in ANNOTATIONS}
    if all(k not in target or target[k] == v for k, v in limits.items()):
        return {**target, **beside}
    return {"allOf": [target, limits], **annotations}
