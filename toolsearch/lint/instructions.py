"""Text in a definition that gives the model orders instead of describing the tool.

A definition goes into the prompt, so whoever writes one can try to steer the model: "tool poisoning". The
patterns are in English, but for the most common order, and find what is meant to be read, also where it is
written with invisible characters or letters of other scripts in between; `hidden_text` finds what is not. No
list can be complete: a clean report is no proof of good faith.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolsearch.delivery.visible import visible
from toolsearch.lint.finding import Finding, Rule
from toolsearch.lint.lookalikes import folded
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
CONSENT = Rule(
    code="instruction-consent",
    severity="warning",
    title="text that keeps the user from being asked",
    hint="Remove it, or do not trust the source: whether a call needs consent is not for its tool to say.",
)
EXFILTRATION = Rule(
    code="instruction-exfiltration",
    severity="warning",
    title="text that sends secrets or the conversation elsewhere",
    hint="Remove it, or do not trust the source: a tool takes what its parameters name, nothing more.",
)
PREEMPTION = Rule(
    code="instruction-preemption",
    severity="warning",
    title="text that puts a tool before all others",
    hint="Say what the tool is for and leave the choice to the search and the model.",
)


def check_instructions(tool: Tool) -> Iterator[Finding]:
    """The first match of each rule in any text of the definition, as it is written and as people read it."""
    texts = [(where, form) for where, text in tool_texts(tool) for form in _forms(text)]
    # One look at everything is enough for most tools; no pattern matches across a NUL.
    everything = "\n\0\n".join(text for _, text in texts)
    for rule, patterns in _PATTERNS.items():
        match = _first_match([p for p in patterns if p.search(everything)], texts)
        if match is not None:
            yield rule.finding(tool.name, match)


def _forms(text: str) -> tuple[str, ...]:
    """`text` without invisible characters and, where that differs, with the letters that it seems to have."""
    shown = visible(text)
    return tuple(dict.fromkeys((shown, folded(shown))))


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

_SECRETS = (
    r"(?:\b(?:conversation|chat|message) (?:history|log|context)\b|\bsystem prompt\b"
    r"|\b(?:api|ssh|private) keys?\b|\bcredentials\b|\bpasswords?\b|\benvironment variables\b"
    r"|\.env\b|\bsecrets\b)"
)
# "Ignore (all) previous instructions" as Google, Microsoft and people translate it.
_OTHER_LANGUAGES = (
    r"\bignor(?:ez|e|er) (?:toutes )?(?:les|tes|vos) instructions (?:pr[ée]c[ée]dentes|ant[ée]rieures)",
    r"\b(?:ignorier(?:e|en)?|vergiss|missachte)(?: \w+){0,3} (?:vorherigen|bisherigen|obigen|fr[üu]heren) "
    r"(?:anweisungen|instruktionen|befehle|regeln)",
    r"\b(?:ignora|ignore|olvida|esquece|desconsidere)(?: \w+){0,3} "
    r"(?:instrucciones|instru[çc][õo]es|istruzioni) (?:anteriores|previas|pr[ée]vias|precedenti)",
    r"(?:忽略|无视|無視|忽視)[之的以上先述前面所有全部一切]{0,10}(?:指令|指示|提示|说明|命令)",
    r"(?:以前|これまで|上記)の(?:すべての)?(?:指示|命令|プロンプト)(?:を|は)無視",
    r"(?:이전|위의?)\s?(?:모든\s?)?(?:지시|명령|지침)\S{0,3}\s?무시",
    r"(?:игнорируй|забудь|проигнорируй)(?:те)?(?: \w+)? (?:предыдущие|прежние) "
    r"(?:инструкции|указания|команды)",
)

_PATTERNS = {
    OVERRIDE: _compiled(
        rf"{_DROP} {_EARLIER}(?: \w+)? {_ORDERS}\b",
        r"</?\s*(?:system|assistant|instructions?|important|hidden|admin)\s*>",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)\|>",
        r"\[/?INST\]|<</?SYS>>",
        r"\byou are (?:now|no longer) (?:an?|in|bound|the|my)\b",
        r"\bnew (?:system )?(?:instructions|prompt)\s*:",
        r"(?:\A|\n)[ \t#*]{0,9}(?:system|developer)(?: message| prompt| note)?\s?:\s?you (?:must|are|will)\b",
        r"\n[ \t]{0,8}(?:human|assistant)\s?:[^\n]*\n[ \t]{0,8}(?:human|assistant)\s?:",
        *_OTHER_LANGUAGES,
    ),
    SECRECY: _compiled(
        rf"{_NEVER} {_TELL} (?:\w+ ){{0,4}}?(?:the )?user\b",
        r"\b(?:hide|conceal|keep) (?:this|it|that|these) (?:secret )?from the user\b",
        r"\b(?:reveal|print|output|repeat|send|include|pass) (?:me )?(?:the|your) system prompt\b",
        rf"{_HAND_OVER}[^.\n]{{0,60}}{_KEYS}",
        r"\b(?:send|include|pass|copy|append) (?:the )?(?:whole|entire|full|complete) "
        r"(?:conversation|chat|message)\b",
    ),
    CONSENT: _compiled(
        rf"{_NEVER} (?:ask|prompt|wait|request|seek)(?:ing)?(?: (?:for|the|user|any|their|user's)){{0,4}} "
        r"(?:confirmation|approval|consent|permission|authorization)\b",
        rf"{_NEVER} (?:ask|consult|warn|alert)(?:ing)? the user\b",
        r"\bthe user (?:has )?already (?:approved|consented|agreed|confirmed|authorized)\b",
        r"\b(?:skip|bypass|disable)(?: (?:all|any|the|user)){0,3} "
        r"(?:confirmation|approval|consent|permission)s?\b(?! (?:screen|dialog|page)\b)",
    ),
    EXFILTRATION: _compiled(
        rf"\b(?:send|post|forward|upload|transmit|leak|copy|bcc) [^.\n]{{0,60}}?{_SECRETS}[^.\n]{{0,60}}?"
        r" to (?:https?://|\S+@\S|an? (?:remote|external) )",
        rf"\b(?:include|put|pass|append|add|encode) [^.\n]{{0,40}}?{_SECRETS}[^.\n]{{0,40}}? "
        r"(?:in|as|to|into) (?:(?:the|this|its) )?(?:\S{1,30} )?"
        r"(?:parameter|argument|field|query|url|note|sidenote)\b",
        r"!\[[^\]]{0,200}\]\(https?://[^)\s]{0,500}[{<$%][^)]{0,500}\)",
        r"\b(?:always|also|secretly) (?:bcc|cc|copy|forward)(?: [^.\n]{0,40})? \S{1,99}@\S",
    ),
    PREEMPTION: _compiled(
        rf"\b{_RUN} th(?:is|e) (?:tool|function) {_BEFORE_ALL}",
        rf"\bth(?:is|e) (?:tool|function) (?:must|should|has to)(?: always)? be \w+ {_BEFORE_ALL}",
        rf"\b(?:instead of|rather than|(?:do not|don't|never) {_RUN}) (?:any|all|the) other "
        r"(?:\w+ )?(?:tools?|functions?)\b",
    ),
}
