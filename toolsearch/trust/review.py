"""`review`: which of the tools that a source lists may be used, by what was approved before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolsearch.lint import Finding, lint_texts
from toolsearch.lint.lookalikes import built_in_alike, skeleton
from toolsearch.tools import JsonObject, Tool
from toolsearch.trust.definition import PinnedDefinition
from toolsearch.trust.policy import STRICTNESS, Policy, TrustPolicy
from toolsearch.trust.record import TrustEntry, TrustRecord, tool_key

Situation: TypeAlias = Literal["first", "added", "changed", "repeated"]


@dataclass(frozen=True, kw_only=True)
class TrustFinding:
    """A definition that nobody has approved.

    Attributes:
        source: The tool source; empty for local tools.
        tool: What the tool is kept under in the record: its raw name.
        situation: Of a source that is new, a tool that is, one that changed, or one that is listed several
            times with different definitions.
        held: Whether it is left out.
        approved, proposed: The digests; `approved` is empty where there was none.
        parts: What changed, such as ``description``.
        shadows: The tool that it could be taken for, in words; empty where there is none.
        flags: What `lint_texts` says of it.
    """

    source: str
    tool: str
    situation: Situation
    held: bool
    approved: str = ""
    proposed: str = ""
    parts: tuple[str, ...] = ()
    shadows: str = ""
    flags: tuple[Finding, ...] = ()

    @property
    def message(self) -> str:
        """What was found and what became of it, in sentences."""
        said = {
            "first": "is new with its source.",
            "added": "is new.",
            "changed": f"changed its {' and '.join(self.parts)}.",
            "repeated": "is listed several times, with different definitions.",
        }[self.situation]
        reasons = [f"It {self.shadows}."] if self.shadows else []
        reasons += [flag.message for flag in self.flags]
        became = "It is left out until approved." if self.held else "It is used."
        of = f" of {self.source!r}" if self.source else ""
        return " ".join((f"Tool {self.tool!r}{of} {said}", *reasons, became))

    def to_json(self) -> JsonObject:
        return {
            "source": self.source,
            "tool": self.tool,
            "situation": self.situation,
            "held": self.held,
            "approved": self.approved,
            "proposed": self.proposed,
            "parts": list(self.parts),
            "shadows": self.shadows,
            "flags": [flag.to_json() for flag in self.flags],
            "message": self.message,
        }


@dataclass(frozen=True)
class Review:
    """What became of the tools that a source lists.

    Attributes:
        admitted: Those that may be used, in the source's order.
        findings: One for each definition that was not approved before and is held, warned of, or flagged; in
            the source's order.
        missing: Approved tools that the source does not list now, sorted. They stay approved: one that comes
            back as it was is used, and one that comes back changed is a change.
        record: The record after it.
    """

    admitted: tuple[Tool, ...]
    findings: tuple[TrustFinding, ...]
    missing: tuple[str, ...]
    record: TrustRecord

    @property
    def held(self) -> tuple[TrustFinding, ...]:
        """The findings about tools that are left out."""
        return tuple(finding for finding in self.findings if finding.held)


def review(
    record: TrustRecord, source: str, tools: Sequence[Tool], policy: Policy | TrustPolicy = "hold"
) -> Review:
    """Which of `tools`, all that `source` lists, may be used. A pure function.

    A tool whose definition is the approved one is used. Any other goes by the policy, but one that could be
    taken for a built-in tool or for an approved one of another source, and one that is listed with several
    definitions, is left out by any policy until it is approved. The old definition of a changed tool is not
    used either: the source may no longer do what it says.

    Raises:
        ValueError: an unknown policy.
    """
    policy = TrustPolicy.of(policy)
    known = record.sources.get(source)
    entries = dict(known or {})
    listed: dict[str, dict[PinnedDefinition, Tool]] = {}
    for tool in tools:
        listed.setdefault(tool_key(tool), {}).setdefault(PinnedDefinition.of(tool), tool)
    admitted: list[Tool] = []
    findings: list[TrustFinding] = []
    for key, definitions in listed.items():
        entry = entries.get(key, TrustEntry())
        if entry.approved is not None and entry.approved in definitions:
            admitted.append(definitions[entry.approved])
            entries[key] = TrustEntry(approved=entry.approved)
            if len(definitions) == 1:
                continue
        others = [definition for definition in definitions if definition != entry.approved]
        situation: Situation = "first" if known is None else "added"
        if len(definitions) > 1:
            situation = "repeated"
        elif entry.approved is not None:
            situation = "changed"
        proposed = others[0]
        tool = definitions[proposed]
        shadows = _shadowed(record, source, tool)
        flags = lint_texts(tool)
        verdict = _verdict(policy, situation, shadows, flags)
        if len(others) == 1 or verdict != "hold":
            entries[key] = (
                TrustEntry(proposed) if verdict == "follow" else TrustEntry(entry.approved, proposed)
            )
        if verdict != "hold":
            admitted.append(tool)
        if verdict != "follow" or situation != "first" or flags:
            findings.append(
                TrustFinding(
                    source=source,
                    tool=key,
                    situation=situation,
                    held=verdict == "hold",
                    approved="" if entry.approved is None else entry.approved.digest,
                    proposed=proposed.digest,
                    parts=() if entry.approved is None else entry.approved.changed_parts(proposed),
                    shadows=shadows,
                    flags=flags,
                )
            )
    missing = sorted(
        key for key, entry in entries.items() if entry.approved is not None and key not in listed
    )
    changed = entries != (known or {})
    return Review(
        tuple(admitted),
        tuple(findings),
        tuple(missing),
        record.with_entries(source, entries) if changed else record,
    )


def _verdict(policy: TrustPolicy, situation: Situation, shadows: str, flags: Sequence[Finding]) -> Policy:
    if shadows or situation == "repeated":
        return "hold"
    stated: Policy = getattr(policy, situation)
    if any(flag.severity == "error" for flag in flags):
        return max(stated, policy.flagged, key=STRICTNESS.index)
    return stated


def _shadowed(record: TrustRecord, source: str, tool: Tool) -> str:
    """What the tool could be taken for, as a verb and its object; empty where it is nothing.

    Another source's tool of the very same name is none: public names tell them apart.
    """
    built_in = built_in_alike(tool.raw_name)
    if built_in:
        return f"could be taken for the built-in {built_in!r}"
    look = skeleton(tool.raw_name)
    owner, name = record.looks.get(look, ("", tool.raw_name))
    if _plainly(name) == _plainly(tool.raw_name):
        owner, name = record.qualified_looks.get(look, (source, ""))
        if owner == source:
            return ""
    return f"could be taken for {name!r} of {owner or '(local)'!r}"


def _plainly(name: str) -> str:
    """A name without case and the marks that stand between words; what does not show stays."""
    return name.casefold().translate(_MARKS)


_MARKS = str.maketrans("", "", " -./:_")
