"""A static encoder, distilled from a tuned one: a table with a vector for each token of its vocabulary.

No text is learned from. Source: Tulkens and van Dongen, Model2Vec, 2024 (github.com/MinishLab/model2vec);
the weights of tokens are those of SIF: Arora, Liang and Ma, ICLR 2017.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Progress
from toolsearch.embedders.onnx import OnnxModel
from toolsearch.embedders.static import SCALES, TABLE, StaticConfig, StaticEmbedder
from toolsearch.embedders.static import TOKENIZER as STATIC_TOKENIZER
from toolsearch.embedders.tuned import TOKENIZER, EncoderConfig, TunedEmbedder
from toolsearch.exceptions import TuningError

Floats: TypeAlias = NDArray[np.float64]

DIM = 256
SMOOTHING = 1e-3
"""The `a` of SIF: a token of this probability weighs half of the rarest."""
PRIOR = 100_000
"""Tokens that Zipf's law counts for, beside those of the documents."""

_BATCH = 80


def distill(
    encoder: TunedEmbedder,
    folder: Path,
    *,
    name: str,
    documents: Sequence[str] = (),
    dim: int | None = None,
    progress: Progress | None = None,
) -> StaticEmbedder:
    """Write the token table of an encoder, in int8, with tokenizer and ``static.json``; and what reads it.

    A token is as `encoder` embeds it between the special tokens, less the mean of all, along the `dim` main
    directions. It weighs a / (a + p), by its share p of all tokens. The same encoder and documents give the
    same files on one machine.

    Args:
        folder: Made if need be; files of an earlier one are replaced.
        name: Begins the embedder's id.
        documents: Texts that say how often tokens come; their number is added to what Zipf's law says of a
            vocabulary that begins with the most frequent.
        dim: Length of the vectors, at most that of the encoder's; None for 256, or for all where it has less.
        progress: Called with (done, total) tokens.

    Raises:
        EmbedderUnavailableError: a file of the encoder is missing or altered.
        TuningError: `dim` is out of range.
    """
    dim = min(DIM, encoder.dim) if dim is None else dim
    if not 1 <= dim <= encoder.dim:
        raise TuningError(f"dim is {dim}; it must be from 1 to {encoder.dim}, the encoder's.")
    model = encoder.model
    silent = _silent(model)
    vectors = main_components(token_vectors(model, progress), dim)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1).mean(), 1e-12)
    vectors *= token_weights(model, documents)[:, None]
    vectors[silent] = 0.0

    folder.mkdir(parents=True, exist_ok=True)
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scales = (largest / 127).astype(np.float32)
    table = np.round(vectors / np.where(largest > 0, largest / 127, 1.0)).astype(np.int8)
    np.save(folder / TABLE, table, allow_pickle=False)
    np.save(folder / SCALES, scales, allow_pickle=False)
    shutil.copyfile(encoder.folder / TOKENIZER, folder / STATIC_TOKENIZER)
    StaticConfig(
        name=name,
        dim=dim,
        max_tokens=EncoderConfig.read(encoder.folder).max_tokens,
        table_sha256=_sha256(folder / TABLE),
        scales_sha256=_sha256(folder / SCALES),
        tokenizer_sha256=_sha256(folder / STATIC_TOKENIZER),
    ).write(folder)
    return StaticEmbedder(folder)


def token_vectors(model: OnnxModel, progress: Progress | None = None) -> Floats:
    """The vector (n, dim) of each token of the vocabulary, alone between the special tokens."""
    first, last = _ends(model)
    n = model.tokenizer.get_vocab_size()
    parts = []
    for start in range(0, n, _BATCH):
        tokens = np.arange(start, min(start + _BATCH, n), dtype=np.int64)
        ids = np.stack([np.full_like(tokens, first), tokens, np.full_like(tokens, last)], axis=1)
        parts.append(model.hidden(ids)[:, 1].astype(np.float64))
        if progress is not None:
            progress(start + len(tokens), n)
    return np.concatenate(parts)


def main_components(vectors: Floats, dim: int) -> Floats:
    """The rows less their mean, along the `dim` directions in which they differ most (n, dim)."""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    chosen = directions[:, ::-1][:, :dim]
    # A direction and its opposite are the same; the largest entry is made positive.
    signs = np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(dim)])
    projected: Floats = centred @ (chosen * signs)
    return projected


def token_weights(model: OnnxModel, documents: Sequence[str]) -> Floats:
    """SIF weights (n,) of the tokens by Zipf's law and by how often they come in the documents."""
    n = model.tokenizer.get_vocab_size()
    zipf = 1 / (np.arange(n) + 2.7)
    counts = PRIOR * zipf / zipf.sum()
    for text in documents:
        np.add.at(counts, model.tokenize(text)[1:-1], 1.0)
    weights: Floats = SMOOTHING / (SMOOTHING + counts / counts.sum())
    return weights


def _silent(model: OnnxModel) -> list[int]:
    """Tokens that say nothing: the special ones, and the one for what the vocabulary lacks."""
    special = {token for token, added in model.tokenizer.get_added_tokens_decoder().items() if added.special}
    return sorted({*special, *_ends(model), model.unknown_token})


def _ends(model: OnnxModel) -> tuple[int, int]:
    ids = model.tokenize("")
    if len(ids) != 2:
        raise TuningError("The encoder does not put one special token at each end of a text.")
    return ids[0], ids[1]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
