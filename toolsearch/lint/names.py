"""Names that models, providers or people may take for one another, or that providers refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from toolsearch.catalog import Catalog
from toolsearch.lint.finding import Finding, Rule, shortened
from toolsearch.lint.lookalikes import built_in_alike, mixed_word, skeleton
from toolsearch.naming import MAX_LENGTH, PUBLIC_NAME, SEPARATOR, split_words
from toolsearch.tools import Tool

NAME_COLLISION = Rule(
    code="name-collision",
    severity="warning",
    title="names that differ in case or punctuation alone",
    hint="Rename one: models mix such names up, and some clients do not tell them apart.",
)
NAME_LOOKALIKE = Rule(
    code="name-lookalike",
    severity="error",
    title="a name made to be taken for another",
    hint="Rename it, or do not trust the source.",
)
NAME_BUILT_IN = Rule(
    code="name-built-in",
    severity="warning",
    title="a name that reads like that of a built-in tool",
    hint="Rename it: models, and clients without prefixes, take it for the built-in one.",
)
NAME_REFUSED = Rule(
    code="name-refused",
    severity="warning",
    title="a name that model providers refuse",
    hint=f"Use only letters, digits, underscores and dashes, at most {MAX_LENGTH} of them.",
)
NAME_TOO_LONG = Rule(
    code="name-too-long",
    severity="info",
    title="a name that is too long with its source before it",
    hint=f"Shorten the name or the source to {MAX_LENGTH - len(SEPARATOR)} characters together.",
)
NAME_CHANGED = Rule(
    code="name-changed",
    severity="info",
    title="a name that is offered with a digest behind it",
    hint=f"Nothing, if it reads well enough; else rename it, or name the source apart from the tool: "
    f"{SEPARATOR!r} stands between the two.",
)
NAME_SHARED = Rule(
    code="name-shared",
    severity="info",
    title="one name in several sources",
    hint="Nothing, where the tools do the same; else let the names say what sets them apart.",
)


def check_lookalikes(tool: Tool) -> Iterator[Finding]:
    """Whether the name reads like a built-in one, or mixes letters that look alike."""
    word = mixed_word(tool.raw_name)
    built_in = built_in_alike(tool.raw_name)
    if word:
        yield NAME_LOOKALIKE.finding(tool.name, f"{word!r} mixes scripts that look alike: {_spelled(word)}.")
    elif built_in and tool.raw_name.isascii():
        yield NAME_BUILT_IN.finding(tool.name, f"{tool.raw_name!r} reads like the built-in {built_in!r}.")
    elif built_in:
        yield NAME_LOOKALIKE.finding(tool.name, f"{tool.raw_name!r} looks like the built-in {built_in!r}.")


def _spelled(word: str) -> str:
    return " ".join(letter if letter.isascii() else f"<U+{ord(letter):04X}>" for letter in word)


def check_names(catalog: Catalog) -> Iterator[Finding]:
    """Names that are equal without case and punctuation, that are rewritten, or that sources share."""
    for group in _groups(catalog.values(), lambda tool: _squashed(tool.name)):
        others = [tool.name for tool in group[1:]]
        yield NAME_COLLISION.finding(group[0].name, f"Easily taken for {shortened(others)}.")
    for group in _groups(catalog.values(), lambda tool: skeleton(tool.raw_name)):
        yield from _disguised(group)
    for tool in catalog.values():
        yield from _rewritten(tool)
    for group in _groups(catalog.values(), lambda tool: tool.raw_name):
        sources = sorted({tool.source for tool in group})
        if len(sources) > 1:
            named = [source or "(local)" for source in sources]
            yield NAME_SHARED.finding(
                group[0].name, f"{group[0].raw_name!r} is in {len(sources)} sources: {shortened(named)}."
            )


def _groups(tools: Iterable[Tool], key: Callable[[Tool], str]) -> Iterator[list[Tool]]:
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        groups.setdefault(key(tool), []).append(tool)
    yield from (group for group in groups.values() if len(group) > 1)


def _squashed(name: str) -> str:
    return "".join(split_words(name)).casefold()


def _disguised(group: list[Tool]) -> Iterator[Finding]:
    """The tools of a group that look like one another by other letters than those of ASCII."""
    plain = sorted({tool.raw_name for tool in group if tool.raw_name.isascii()})
    for tool in group if plain else ():
        if not tool.raw_name.isascii() and not mixed_word(tool.raw_name):
            yield NAME_LOOKALIKE.finding(tool.name, f"{tool.raw_name!r} looks like {shortened(plain)}.")


def _rewritten(tool: Tool) -> Iterator[Finding]:
    """Why the tool is not offered under its own name, or that after its source's."""
    offered = f"offered as {tool.name!r}."
    whole = len(tool.source) + len(SEPARATOR) + len(tool.raw_name)
    if len(tool.raw_name) > MAX_LENGTH:
        problem = f"{tool.raw_name!r} has {len(tool.raw_name)} characters"
        yield NAME_REFUSED.finding(tool.name, f"{problem}, {offered}")
    elif not PUBLIC_NAME.fullmatch(tool.raw_name):
        wrong = shortened(sorted({repr(c) for c in tool.raw_name if not PUBLIC_NAME.fullmatch(c)}))
        yield NAME_REFUSED.finding(tool.name, f"{tool.raw_name!r} holds {wrong}, {offered}")
    elif tool.source and whole > MAX_LENGTH:
        problem = f"{tool.raw_name!r} has {whole} characters with its source"
        yield NAME_TOO_LONG.finding(tool.name, f"{problem}, {offered}")
    elif tool.id:
        yield NAME_CHANGED.finding(tool.name, f"{tool.raw_name!r} needs its id {tool.id!r:.60}, {offered}")
    elif tool.name not in {tool.raw_name, f"{tool.source}{SEPARATOR}{tool.raw_name}"}:
        said = repr(tool.raw_name) + (f" of {tool.source!r:.60}" if tool.source else "")
        yield NAME_CHANGED.finding(tool.name, f"{said} could be taken for another name, {offered}")
