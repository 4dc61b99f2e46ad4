"""Up to a million tools: the real ones of the bench catalogs, then copies with other names and texts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from random import Random

from benchmarks.data import DEFAULT_DATA
from toolsearch.catalog import tool_from_record
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import Tool

QUERIES_PER_SET = 30

# A copy says a word of a group as the next ones of the group, always the same way: so two names that differ
# still do, and a copy shares some words with its original and some with other tools.
_GROUPS = (
    "get fetch retrieve obtain",
    "list enumerate index",
    "create add make new",
    "delete remove erase drop",
    "update modify change edit",
    "search find lookup query",
    "send deliver dispatch transmit",
    "start launch begin",
    "stop halt end",
    "check verify validate inspect",
    "user account member",
    "file document item",
    "message mail note",
    "data records information",
    "project workspace folder",
    "image picture photo",
    "price cost amount",
    "report summary overview",
    "returns gives yields",
    "specified given stated",
)
_PLACES = [
    *("eu", "us", "apac", "nordic", "gulf", "andes"),
    *("pacific", "baltic", "sahel", "alpine", "delta", "harbor"),
]
_STAGES = ["prod", "staging", "audit", "partner", "archive"]
_CLAUSES = (
    "Runs in the {place} region.",
    "Limited to the {stage} account of the {place} team.",
    "Part of the {stage} bundle.",
    "Calls are logged for {stage} reviews in {place}.",
    "For customers in {place} only.",
    "Deprecated in {place}, still served in {stage}.",
)
_DROPPED = 0.08
_SAID_OTHERWISE = 0.5
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def scale_tools(n: int, data: Path = DEFAULT_DATA) -> list[Tool]:
    """`n` tools with different names: all real ones in a mixed order, then copy after copy of each.

    Copies share the input schema of their original. The first n of more tools are the same tools.

    Raises:
        EvaluationError: the catalogs are not there.
    """
    real = real_tools(data)
    if not real:
        raise EvaluationError(f"There is no catalog in {str(data)!r}; name the data folder with --data.")
    copies = (copy_of(tool, number) for number in count(1) for tool in real)
    return [*real[:n], *islice(copies, max(n - len(real), 0))]


def real_tools(data: Path = DEFAULT_DATA) -> list[Tool]:
    """Every different tool of the catalogs in `data`, in an order that mixes them."""
    tools: dict[str, Tool] = {}
    seen: set[bytes] = set()
    for path in sorted(data.glob("*/catalog.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                kept = {key: record[key] for key in ("name", "description", "input_schema")}
                digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).digest()
                if digest in seen:
                    continue
                seen.add(digest)
                tool = tool_from_record({**kept, "server": record.get("server") or path.parent.name})
                if tool.name in tools:
                    tool = replace(tool, id=digest.hex()[:8])
                tools[tool.name] = tool
    return sorted(tools.values(), key=lambda tool: _mixing_key(tool.name))


def read_queries(data: Path = DEFAULT_DATA) -> list[str]:
    """Requests over the real tools: some of each set, in an order that mixes the sets."""
    texts: list[str] = []
    for path in sorted(data.glob("*/queries.dev.jsonl")):
        with path.open(encoding="utf-8") as lines:
            own = sorted({json.loads(line)["query"] for line in lines}, key=_mixing_key)
        texts += own[:QUERIES_PER_SET]
    return sorted(texts, key=_mixing_key)


def _mixing_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def copy_of(tool: Tool, number: int) -> Tool:
    """Copy `number`, from 1, of a real tool: of another server, with other words in name and description."""
    place, stage = _PLACES[number % len(_PLACES)], _STAGES[number % len(_STAGES)]
    chance = Random(f"{number} {tool.name}")  # noqa: S311 (nothing is secret)
    sentences = _SENTENCE.split(tool.description.strip())
    if len(sentences) > 1 and chance.random() < 0.3:
        sentences.insert(0, sentences.pop())
    said = [_reworded(sentence, number, chance) for sentence in sentences]
    if chance.random() < 0.5:
        clause = chance.choice(_CLAUSES).format(place=place, stage=stage)
        said.insert(chance.choice((0, len(said))), clause)
    return replace(
        tool,
        raw_name=_WORD.sub(lambda match: _other_word(match.group(), number), tool.raw_name),
        source=f"{tool.source}-{place}-{stage}",
        description=" ".join(filter(None, said)),
    )


def _reworded(sentence: str, number: int, chance: Random) -> str:
    kept = [word for word in sentence.split() if chance.random() >= _DROPPED]

    def other(match: re.Match[str]) -> str:
        return _other_word(match.group(), number) if chance.random() < _SAID_OTHERWISE else match.group()

    return _WORD.sub(other, " ".join(kept))


def _other_word(word: str, number: int) -> str:
    group = _GROUP_OF.get(word.lower())
    if group is None:
        return word
    other = group[(group.index(word.lower()) + number) % len(group)]
    return other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other


def _group_of() -> dict[str, Sequence[str]]:
    return {word: words.split() for words in _GROUPS for word in words.split()}


_GROUP_OF = _group_of()
