"""A sentence encoder under ONNX Runtime: one vector a text, bit for bit, whatever it is embedded with."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.text import without_surrogates
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MAX_CHARACTERS = 16_384
"""Only so much of a text is looked at: several times what 256 tokens of prose hold."""
RECIPE = "ort-basic mean-l2"
"""Names what else than the files decides the vectors: graph optimization level and pooling."""

# Measured on 36 to 256 tokens a text: fewer leave the matrix kernels idle, more leave the cache.
_BATCH_TOKENS = 256
# Below this, threads cost more than they spare.
_PARALLEL_TOKENS = 2 * _BATCH_TOKENS


@dataclass(frozen=True)
class OnnxModel:
    """The tokenizer and the session, both safe to use from several threads.

    Attributes:
        unknown_token: The id of tokens that the vocabulary lacks.
    """

    tokenizer: Tokenizer
    session: InferenceSession
    unknown_token: int

    def tokenize(self, text: str) -> list[int]:
        """Token ids of the beginning of `text`, the special ones at both ends."""
        ids: list[int] = self.tokenizer.encode(without_surrogates(text[:MAX_CHARACTERS])).ids
        return ids

    def forward(self, token_ids: NDArray[np.int64]) -> Vectors:
        """Mean token vectors (n, dim) of n texts of equal token length, not yet of unit length."""
        mean: Vectors = self.hidden(token_ids).mean(axis=1, dtype=np.float64).astype(np.float32)
        return mean

    def hidden(self, token_ids: NDArray[np.int64]) -> Vectors:
        """The vectors (n, tokens, dim) of all tokens of n texts of equal token length."""
        inputs = {
            "input_ids": token_ids,
            "attention_mask": np.ones_like(token_ids),
            "token_type_ids": np.zeros_like(token_ids),
        }
        try:
            (hidden,) = self.session.run(None, inputs)
        except Exception as exc:
            raise EmbeddingError(f"The embedder could not run its model: {exc}") from exc
        vectors: Vectors = hidden
        return vectors


class OnnxEncoder:
    """Unit vectors of texts by an `OnnxModel`, which is opened when it is first needed.

    Only texts of equal token length share a batch, so none is padded, and each batch runs on one thread.
    A text without any known token, such as an empty one, gives a zero row.
    """

    def __init__(
        self, embedder_id: str, *, dim: int, threads: int | None, open_model: Callable[[], OnnxModel]
    ) -> None:
        """Opens nothing yet.

        Args:
            embedder_id: For errors.
            dim: Length of each vector.
            threads: For many texts at once; None takes every processor that this process may use.
            open_model: Loads the model; called once.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}, not at least 1.")
        self._id = embedder_id
        self._dim = dim
        self.threads = threads or _available_processors()
        self._open = open_model
        self._opening = threading.Lock()

    @property
    def model(self) -> OnnxModel:
        """The model, loaded by whichever thread comes first."""
        with self._opening:
            return self._model

    @cached_property
    def _model(self) -> OnnxModel:
        return self._open()

    def warm_up(self) -> None:
        """Load the model and run it once, so that the first text takes no longer than the next.

        Raises:
            EmbedderUnavailableError, EmbeddingError: as `embed`.
        """
        self.embed(["search tools"])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: the model cannot be loaded.
            EmbeddingError: it could not be run.
        """
        model = self.model
        token_ids = [model.tokenize(text) for text in texts]
        rows = np.zeros((len(texts), self._dim), dtype=np.float32)
        unknown = model.unknown_token
        known = [i for i, ids in enumerate(token_ids) if any(t != unknown for t in ids[1:-1])]
        batches = list(_equal_length_batches(token_ids, known))
        done = len(texts) - len(known)
        if progress is not None:
            progress(done, len(texts))
        for batch, vectors in self._run(model, batches, token_ids):
            rows[batch] = vectors
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        return as_unit_rows(rows, n=len(texts), dim=self._dim, embedder_id=self._id)

    def _run(
        self, model: OnnxModel, batches: list[list[int]], token_ids: list[list[int]]
    ) -> Iterator[tuple[list[int], Vectors]]:
        def forward(batch: list[int]) -> Vectors:
            return model.forward(np.array([token_ids[i] for i in batch], dtype=np.int64))

        tokens = sum(len(token_ids[i]) for batch in batches for i in batch)
        if self.threads == 1 or tokens <= _PARALLEL_TOKENS:
            for batch in batches:
                yield batch, forward(batch)
            return
        executor = ThreadPoolExecutor(self.threads, thread_name_prefix="toolsearch-embed")
        try:
            futures = {executor.submit(forward, batch): batch for batch in batches}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            executor.shutdown(cancel_futures=True)


def open_onnx(weights: Path, vocabulary: Path, *, max_tokens: int, unknown_token: int) -> OnnxModel:
    """The model in these two files; texts are cut at `max_tokens`.

    Raises:
        EmbedderUnavailableError: a package is missing, or a file cannot be used.
    """
    try:
        import onnxruntime
        import tokenizers
    except ImportError as exc:
        raise EmbedderUnavailableError(
            f"The embedder needs the package {exc.name!r}. "
            "Install it: pip install --force-reinstall toolsearch"
        ) from exc
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Measured 5 % faster a batch than the fused operators of the higher levels, and quicker to load.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # A memory pattern would be kept for each shape ever seen.
    options.enable_mem_pattern = False
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
        session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    except Exception as exc:
        # Both raise errors of their own kinds.
        raise EmbedderUnavailableError(f"The model in {str(weights)!r} cannot be loaded: {exc}") from exc
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return OnnxModel(tokenizer, session, unknown_token)


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
