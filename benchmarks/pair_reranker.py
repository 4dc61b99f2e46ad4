"""The reranker that was tried: it reads the token states of the bundled encoder; int8, without torch."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
import tokenizers
from numpy.typing import NDArray

from toolsearch.embedders.bundled import FOLDER as ENCODER
from toolsearch.embedders.files import check_file, id_of, read_facts, write_facts
from toolsearch.embedders.onnx import MAX_CHARACTERS
from toolsearch.embedders.text import without_surrogates
from toolsearch.embedders.tuned import TOKENIZER
from toolsearch.embedders.tuned import WEIGHTS as ENCODER_WEIGHTS
from toolsearch.exceptions import EmbedderUnavailableError, RerankerError
from toolsearch.rerankers.base import LogOdds, as_log_odds

CONFIG = "reranker.json"
WEIGHTS = "reranker.int8.onnx"
FORMAT = 1
KEPT = 1000
"""Documents whose states are kept, some 50 kB each: tools that are put forward again cost a fraction."""

LAST = "last_hidden_state"
States = NDArray[np.float32]
Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class RerankerConfig:
    """What a folder's ``reranker.json`` says.

    Attributes:
        name: Begins the reranker's id.
        encoder_sha256: Of the weights of the encoder whose states it reads.
        query_state, document_state: Names of these states in the encoder's graph.
        query_tokens, document_tokens: Where texts are cut, the special tokens counted.
        weights_sha256: Of its own weights.
    """

    name: str
    encoder_sha256: str
    query_state: str
    document_state: str
    query_tokens: int
    document_tokens: int
    weights_sha256: str
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write ``reranker.json``."""
        write_facts(self, folder / CONFIG)

    @classmethod
    def read(cls, folder: Path) -> RerankerConfig:
        """What `write` left.

        Raises:
            RerankerError: there is no such file, or it is none that this release can read.
        """
        try:
            return read_facts(
                cls, folder / CONFIG, encoder="reranker", reads=FORMAT, remedy="Train it again."
            )
        except EmbedderUnavailableError as exc:
            raise RerankerError(str(exc)) from exc


@dataclass(frozen=True)
class _Told:
    """A document as it is read: its states (tokens, hidden) in half precision, and its unit vector."""

    states: NDArray[np.float16]
    vector: States


@dataclass(frozen=True)
class _Models:
    tokenizer: Any
    encoder: Any
    pairs: Any


class PairReranker:
    """Scores by a few layers in which the tokens of a query attend to those of a document.

    What they read are the states that an encoder gives to either text alone. So a document is encoded once
    and kept, whatever is asked. For one pair there is one score, whatever it is scored with, but for the last
    bits of float32.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        encoder: Path | str = ENCODER,
        kept: int = KEPT,
        threads: int = 1,
    ) -> None:
        """Reads ``reranker.json`` and loads nothing yet.

        Args:
            folder: What ``python -m benchmarks.train_reranker`` wrote.
            encoder: The folder of the encoder that it was trained on.
            kept: Documents whose states are kept.
            threads: For the documents of a query.

        Raises:
            RerankerError: the folder holds no reranker.
        """
        if kept < 0:
            raise ValueError(f"kept is {kept}, not at least 0.")
        if threads < 1:
            raise ValueError(f"threads is {threads}, not at least 1.")
        self.folder, self.encoder = Path(folder), Path(encoder)
        self._config = RerankerConfig.read(self.folder)
        self.id = id_of(self._config.name, self._config)
        self.threads = threads
        self._kept: OrderedDict[str, _Told] = OrderedDict()
        self._most = kept
        self._lock, self._opening = threading.Lock(), threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, id={self.id!r})"

    def warm_up(self) -> None:
        """Load the models now: a service calls this when it starts.

        Raises:
            RerankerError: a file is missing or altered.
        """
        self.scores("search tools", ["search tools: find tools"])

    def scores(self, query: str, documents: Sequence[str]) -> LogOdds:
        """Log odds (n,) that each document serves the query; nothing is said of a text without tokens.

        Raises:
            RerankerError: a file is missing or altered.
        """
        if not documents:
            return np.zeros(0)
        asked, _, _ = self._encoded(query, self._config.query_tokens)
        told = self._each(self._told, documents)
        # Only documents of equal length share a batch, so none is padded.
        by_length: dict[int, list[int]] = {}
        for place, each in enumerate(told):
            by_length.setdefault(len(each.states), []).append(place)

        def score(places: list[int]) -> States:
            states = np.stack([told[place].states for place in places]).astype(np.float32)
            inputs = {
                "query": np.repeat(asked[None], len(places), axis=0),
                "document": states,
                "vector": np.stack([told[place].vector for place in places]),
            }
            (found,) = self._models.pairs.run(["score"], inputs)
            return np.asarray(found)

        logits = np.zeros(len(documents))
        for places, found in zip(by_length.values(), self._each(score, by_length.values()), strict=True):
            logits[places] = found
        return as_log_odds(logits, n=len(documents), reranker_id=self.id)

    def _each(self, make: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
        """What `make` makes of each item, in order, on as many threads as there are to be."""
        items = list(items)
        if self.threads == 1 or len(items) == 1:
            return [make(item) for item in items]
        with ThreadPoolExecutor(
            min(self.threads, len(items)), thread_name_prefix="toolsearch-rerank"
        ) as pool:
            return list(pool.map(make, items))

    def _told(self, document: str) -> _Told:
        with self._lock:
            found = self._kept.get(document)
            if found is not None:
                self._kept.move_to_end(document)
                return found
        _, states, last = self._encoded(document, self._config.document_tokens)
        mean = last.mean(axis=0)
        made = _Told(states.astype(np.float16), mean / np.linalg.norm(mean))
        with self._lock:
            self._kept[document] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made

    def _encoded(self, text: str, max_tokens: int) -> tuple[States, States, States]:
        """The states of a text as a query's, as a document's and at last, each (tokens, hidden)."""
        ids = self._models.tokenizer.encode(without_surrogates(text[:MAX_CHARACTERS])).ids
        ids = ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]]
        row = np.array([ids], dtype=np.int64)
        inputs = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        wanted = [self._config.query_state, self._config.document_state, LAST]
        query, document, last = (each[0] for each in self._models.encoder.run(wanted, inputs))
        return query, document, last

    @property
    def _models(self) -> _Models:
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> _Models:
        config = self._config
        weights, pairs = self.encoder / ENCODER_WEIGHTS, self.folder / WEIGHTS
        try:
            for path, sha256 in ((weights, config.encoder_sha256), (pairs, config.weights_sha256)):
                check_file(
                    path,
                    sha256,
                    owner="The reranker's file",
                    expected=f"{CONFIG} names",
                    remedy="Train it again, or copy the whole folder.",
                )
        except EmbedderUnavailableError as exc:
            raise RerankerError(f"The reranker cannot be loaded: {exc}") from exc
        tokenizer = tokenizers.Tokenizer.from_file(str(self.encoder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        encoder = onnx.load(weights)
        for name in (config.query_state, config.document_state):
            encoder.graph.output.append(
                onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            )
        return _Models(tokenizer, _session(encoder.SerializeToString()), _session(pairs.read_bytes()))


def _session(model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
