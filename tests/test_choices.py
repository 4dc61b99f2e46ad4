"""A setting that is one of several words takes no other: nothing falls back to some behaviour in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI

from toolsearch.adapters.session import ToolSearchSession
from toolsearch.adapters.wrap import wrap
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.formats import read_tools, write_tools
from toolsearch.functions.decorator import tool
from toolsearch.index.tool_index import ToolIndex
from toolsearch.index.vectors import VectorIndex
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel
from toolsearch.tokens import catalog_tokens


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


EMBEDDER = HashingEmbedder(32)
CATALOG = Catalog([get_weather])
SEARCHER = CatalogSearcher(CATALOG, EMBEDDER)


def loaded(folder: Path, verify: Any) -> ToolIndex:
    build_index(CATALOG, EMBEDDER).save(folder)
    return ToolIndex.load(folder, EMBEDDER, verify=verify)


SETTINGS: dict[str, tuple[Callable[[Any, Path], object], str]] = {
    "LoopLimits.on_limit": (lambda word, _: LoopLimits(on_limit=word), "raise"),
    "ToolSearchAdvisor.delivery": (lambda word, _: ToolSearchAdvisor(SEARCHER, delivery=word), "bridge"),
    "ToolRouter.delivery": (
        lambda word, _: ToolRouter(ScriptedChatModel([]), CATALOG, embedder=EMBEDDER, delivery=word),
        "native",
    ),
    "ToolSearchSession.delivery": (lambda word, _: ToolSearchSession(SEARCHER, delivery=word), "bridge"),
    "wrap.delivery": (lambda word, _: wrap(AsyncOpenAI(api_key="key"), delivery=word), "native"),
    "ToolSearchSession.form": (lambda word, _: ToolSearchSession(SEARCHER, form=word), "anthropic"),
    "ToolSearcher.on_embedder_failure": (
        lambda word, _: ToolSearcher(build_index(CATALOG, EMBEDDER), EMBEDDER, on_embedder_failure=word),
        "raise",
    ),
    "ToolSearcher.channels": (
        lambda word, _: ToolSearcher(build_index(CATALOG, EMBEDDER), EMBEDDER, channels=[word]),
        "lexical",
    ),
    "build_index.kind": (lambda word, _: build_index(CATALOG, EMBEDDER, kind=word), "flat"),
    "VectorIndex.kind": (
        lambda word, _: VectorIndex.build(np.eye(2, dtype=np.float32), kind=word),
        "hnsw",
    ),
    "ToolIndex.verify": (lambda word, folder: loaded(folder, word), "size"),
    "catalog_tokens.form": (lambda word, _: catalog_tokens(CATALOG, form=word), "anthropic"),
    "write_tools.form": (lambda word, _: write_tools(CATALOG, word), "mcp"),
    "read_tools.form": (lambda word, _: read_tools({"name": "x"}, form=word), "anthropic"),
}


@pytest.mark.parametrize("word", ["halt", "", "RAISE", None], ids=repr)
@pytest.mark.parametrize("setting", SETTINGS)
def test_another_word_is_refused_with_those_that_there_are(setting: str, word: Any, tmp_path: Path) -> None:
    if setting == "read_tools.form" and word is None:
        return  # the form is found by itself
    make, known = SETTINGS[setting]
    with pytest.raises(ValueError, match=known):
        make(word, tmp_path / "index")


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_word_that_there_is_is_taken(setting: str, tmp_path: Path) -> None:
    make, known = SETTINGS[setting]
    assert make(known, tmp_path / "index") is not None
