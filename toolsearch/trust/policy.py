"""`TrustPolicy`: what becomes of definitions that nobody has approved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolsearch.checks import check_choice

Policy: TypeAlias = Literal["follow", "warn", "hold"]
"""Mildest first: approved at once; used, and reported until approved; left out until approved."""

STRICTNESS: tuple[Policy, ...] = ("follow", "warn", "hold")


@dataclass(frozen=True, kw_only=True)
class TrustPolicy:
    """What becomes of definitions that nobody has approved.

    Attributes:
        changed: Of an approved tool that says something else now.
        added: Of a new tool of a source that is known.
        first: Of the tools of a source that is seen for the first time.
        flagged: At the least of a definition in which `lint_texts` finds an error, such as hidden text.

    Raises:
        ValueError: another word than those of `Policy`.
    """

    changed: Policy = "hold"
    added: Policy = "hold"
    first: Policy = "follow"
    flagged: Policy = "hold"

    def __post_init__(self) -> None:
        for name in ("changed", "added", "first", "flagged"):
            check_choice(name, getattr(self, name), Policy)

    @classmethod
    def of(cls, word: Policy | TrustPolicy) -> TrustPolicy:
        """The policy that one word stands for: it is said of changes and of new tools.

        With ``warn`` and ``follow`` a flagged definition is used and reported. Tools that would shadow others
        are left out in any case.

        Raises:
            ValueError: another word.
        """
        if isinstance(word, TrustPolicy):
            return word
        check_choice("policy", word, Policy)
        return cls(changed=word, added=word, flagged="hold" if word == "hold" else "warn")
