"""YAML text as JSON values, with the lines that they start on and the keys that stand twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from toolsearch.exceptions import CatalogFileError
from toolsearch.formats.detect import Path
from toolsearch.schema.keywords import MAX_INTEGER_BITS
from toolsearch.sources.json_text import Flaws, as_int

MAX_EXPANDED = 5_000_000
"""Values that the aliases of one document may expand to."""


@dataclass(frozen=True)
class ParsedYaml:
    """One document of a YAML text.

    Attributes:
        value: Mappings have string keys, written as in the text.
        flaws: Mappings with a key that stands twice, whose last value counts.
    """

    value: Any
    root: yaml.Node
    flaws: Flaws

    def line_of(self, path: Path) -> int:
        """The line, from 1, that the value at a path of keys and positions starts on."""
        node = self.root
        for step in path:
            below = _below(node, step)
            if below is None:
                break
            node = below
        return int(node.start_mark.line) + 1


def parse_yaml(path: str, text: str) -> Iterator[ParsedYaml]:
    """The documents of a text, empty ones left out.

    Plain scalars are read by the core schema of YAML 1.2, in which ``on``, ``no`` and dates are strings,
    as they are meant in a tool definition.

    Raises:
        CatalogFileError: no YAML, a tag of something that is no JSON, or aliases without end.
    """
    loader = _Loader(text)
    try:
        while loader.check_node():
            root = loader.get_node()
            _refuse_expansion(root)
            loader.flaws = {}
            value = loader.construct_document(root)
            if value is not None:
                yield ParsedYaml(value, root, loader.flaws)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        reason = getattr(exc, "problem", None) or getattr(exc, "reason", None) or str(exc)
        raise CatalogFileError(path, f"not YAML: {reason}", line=mark.line + 1 if mark else None) from exc
    except RecursionError:
        raise CatalogFileError(path, "nested too deeply to be read") from None
    finally:
        loader.dispose()


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    flaws: Flaws

    def construct_json_mapping(self, node: yaml.MappingNode) -> Iterator[dict[str, Any]]:
        value: dict[str, Any] = {}
        yield value
        # Keys of the mapping itself come after those merged into it, and win over them.
        own = {id(key) for key, _ in node.value}
        self.flatten_mapping(node)
        seen: set[str] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key that is no scalar", key_node.start_mark
                )
            key = key_node.value
            if key in seen and id(key_node) in own:
                self.flaws[id(value)] = (value, f"the key {key!r:.60} stands twice in one object.")
            if id(key_node) in own:
                seen.add(key)
            value[key] = self.construct_object(value_node)


def _int(text: str) -> int | float:
    """The number; infinite, as in JSON, where it is too long to be written again."""
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    if base == 10:
        return as_int(text)
    number = int(text, base)
    return number if number.bit_length() <= MAX_INTEGER_BITS else float("inf")


_CORE_SCHEMA = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""], lambda text: None),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF"), lambda text: text.lower() == "true"),
    (
        "int",
        r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
        list("-+0123456789"),
        _int,
    ),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
        lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    ),
)


def _register() -> None:
    for name, pattern, first, construct in _CORE_SCHEMA:
        tag = f"tag:yaml.org,2002:{name}"
        _Loader.add_implicit_resolver(tag, re.compile(f"(?:{pattern})$"), first)
        _Loader.add_constructor(tag, lambda loader, node, construct=construct: construct(node.value))
    _Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("<<$"), ["<"])
    _Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_json_mapping)


_register()


def _below(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        part: yaml.Node = node.value[step]
        return part
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value  # type: ignore[no-any-return]
    return None


def _refuse_expansion(root: yaml.Node) -> None:
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(node: yaml.Node) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_:
            raise yaml.constructor.ConstructorError(None, None, "an alias leads to itself", node.start_mark)
        open_.add(id(node))
        if isinstance(node, yaml.MappingNode):
            total = 1 + sum(1 + size(value) for _, value in node.value)
        else:
            total = 1 + sum(size(part) for part in node.value)
        open_.discard(id(node))
        sizes[id(node)] = total
        if total > MAX_EXPANDED:
            raise yaml.constructor.ConstructorError(
                None, None, f"aliases expand to more than {MAX_EXPANDED:,} values", node.start_mark
            )
        return total

    size(root)
