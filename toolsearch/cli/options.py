"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

CatalogFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="CATALOG",
        help="Files, folders or http URLs: tool definitions in any known form (JSON, JSON Lines, YAML), "
        "OpenAPI documents, and configurations of MCP servers (mcpServers), which are started and asked. "
        "- is standard input.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]
EmbedderSpec: TypeAlias = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="ID",
        help="default, multilingual, st:NAME (sentence-transformers), https://HOST/v1#MODEL "
        "(OpenAI-compatible), or a folder of toolsearch tune.",
        show_default=False,
    ),
]
RerankerSpec: TypeAlias = Annotated[
    str,
    typer.Option(
        "--rerank",
        metavar="ID",
        help="Read the best 20 tools once more with a cross-encoder of "
        "sentence-transformers: st:NAME or st:FOLDER.",
        show_default=False,
    ),
]
NoCache: TypeAlias = Annotated[bool, typer.Option("--no-cache", help="Do not keep vectors for later runs.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="End at the first definition that cannot be used.")
]
Source: TypeAlias = Annotated[
    str,
    typer.Option(
        "--source", metavar="NAME", help="Tool source of definitions that name none.", show_default=False
    ),
]
DEFAULT_CONFIG = "mcp.json, here or else in the folder of settings"
"""What `cli.defaults.default_config` gives, in words."""

ConfigFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        help="A configuration of MCP servers and OpenAPI documents, or an OpenAPI document by path or URL; "
        f"may be given several times.  [default: {DEFAULT_CONFIG}]",
        show_default=False,
    ),
]
IndexFolder: TypeAlias = Annotated[
    Path, typer.Option("-i", "--index", metavar="DIR", help="The index folder.", show_default=False)
]
OnlyServers: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only tools of these servers.")
]
AllowedTools: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Only tools whose name, or server/name, fits one of these."),
]
DeniedTools: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="No tools whose name, or server/name, fits.")
]


class Encoding(StrEnum):
    """Tokenizers to count with."""

    O200K = "o200k_base"
    CL100K = "cl100k_base"


class Form(StrEnum):
    """Wire forms to count in."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"


class Kind(StrEnum):
    """Ways to search vectors."""

    AUTO = "auto"
    FLAT = "flat"
    IVF = "ivf"
    HNSW = "hnsw"


class DeliveryWay(StrEnum):
    """Ways of discovered tools to the model."""

    AUTO = "auto"
    APPEND = "append"
    BRIDGE = "bridge"
    NATIVE = "native"


class CatalogForm(StrEnum):
    """Forms to write catalogs in; each stands for one of `toolsearch.formats.FORMATS`."""

    OWN = "own"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    MCP = "mcp"
    GEMINI = "gemini"
    LANGCHAIN = "langchain"
    PYDANTIC_AI = "pydantic-ai"

    @property
    def format_name(self) -> str:
        return "openai_chat" if self is CatalogForm.OPENAI else self.value.replace("-", "_")
