"""Text in a definition that gives the model orders instead of describing the tool.

A definition goes into the prompt, so whoever writes one can try to steer the model: "tool poisoning". The
patterns are in English and find what is meant to be read; `hidden_text` finds what is not. No list can be
complete: a clean report is no proof of good faith.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolsearch.lint.finding import Finding, Rule
from toolsearch.lint.texts import quoted, tool_texts
from toolsearch.tools import Tool

OVERRIDE = Rule(
    code="instruction-override",
    severity="error",
    title="text that overrides the model's instructions",
    hint="Remove it, or do not trust the source: a description says what a tool does, it gives no orders.",
)
SECRECY = Rule(
    code="instruction-secrecy",
    severity="warning",
    title="text that asks the model to hide something or to hand over data",
    hint="Remove it, or do not trust the source: nothing that a tool does may be kept from the user.",
)
PREEMPTION = Rule(
    code="instruction-preemption",
    severity="warning",
    title="text that puts a tool before all others",
    hint="Say what the tool is for and leave the choice to the search and the model.",
)


def check_instructions(tool: Tool) -> Iterator[Finding]:
    """The first match of each rule in any text of the definition."""
    texts = list(tool_texts(tool))
    # One look at everything is enough for most tools; no pattern matches across a NUL.
    everything = "\n\0\n".join(text for _, text in texts)
    for rule, patterns in _PATTERNS.items():
        match = _first_match([p for p in patterns if p.search(everything)], texts)
        if match is not None:
            yield rule.finding(tool.name, match)


def _first_match(patterns: Sequence[re.Pattern[str]], texts: Sequence[tuple[str, str]]) -> str | None:
    for pattern in patterns:
        for where, text in texts:
            match = pattern.search(text)
            if match is not None:
                return f"Its {where} says {quoted(text, *match.span())}."
    return None


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """The patterns without regard to case; a blank stands for any white space."""
    return tuple(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE) for pattern in patterns)


_NEVER = r"\b(?:do not|don't|never|must not|should not|without)(?: ever)?"
_TELL = r"(?:tell|inform|mention|reveal|disclose|notify|alert)(?:l?ing)?"
_ORDERS = r"(?:instructions?|prompts?|rules|guidelines|directives|messages|context|commands)"
_EARLIER = r"(?:previous|prior|above|earlier|preceding|existing|original|system|other|your)"
_DROP = r"\b(?:ignore|disregard|forget|override|bypass)(?: (?:all|any|every|the|of|these|those|my|your))*"
_HAND_OVER = r"\b(?:read|open|cat|send|include|pass|copy|upload|contents? of)\b"
_KEYS = r"(?:~/\.ssh|\bid_rsa\b|/etc/(?:passwd|shadow)\b|~/\.aws\b|\.aws/credentials|~/\.cursor)"
_RUN = r"(?:call|use|invoke|run|execute)"
_BEFORE_ALL = r"(?:first\b|before (?:any|all|every|using any|calling any))"

_PATTERNS = {
    OVERRIDE: _compiled(
        rf"{_DROP} {_EARLIER}(?: \w+)? {_ORDERS}\b",
        r"</?\s*(?:system|assistant|instructions?|important|hidden|admin)\s*>",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)\|>",
        r"\[/?INST\]|<</?SYS>>",
        r"\byou are (?:now|no longer) (?:an?|in|bound|the|my)\b",
        r"\bnew (?:system )?(?:instructions|prompt)\s*:",
    ),
    SECRECY: _compiled(
        rf"{_NEVER} {_TELL} (?:\w+ ){{0,4}}?(?:the )?user\b",
        r"\b(?:hide|conceal|keep) (?:this|it|that|these) (?:secret )?from the user\b",
        r"\b(?:reveal|print|output|repeat|send|include|pass) (?:me )?(?:the|your) system prompt\b",
        rf"{_HAND_OVER}[^.\n]{{0,60}}{_KEYS}",
        r"\b(?:send|include|pass|copy|append) (?:the )?(?:whole|entire|full|complete) "
        r"(?:conversation|chat|message)\b",
    ),
    PREEMPTION: _compiled(
        rf"\b{_RUN} th(?:is|e) (?:tool|function) {_BEFORE_ALL}",
        rf"\bth(?:is|e) (?:tool|function) (?:must|should|has to)(?: always)? be \w+ {_BEFORE_ALL}",
        rf"\b(?:instead of|rather than|(?:do not|don't|never) {_RUN}) (?:any|all|the) other "
        r"(?:\w+ )?(?:tools?|functions?)\b",
    ),
}
