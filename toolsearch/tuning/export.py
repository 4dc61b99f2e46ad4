"""A trained encoder as a folder that `TunedEmbedder` reads, checked against the weights it was made of."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from toolsearch.embedders.base import Vectors
from toolsearch.embedders.tuned import TOKENIZER, WEIGHTS, EncoderConfig, TunedEmbedder
from toolsearch.exceptions import TuningError
from toolsearch.tuning.encoder import TextEncoder
from toolsearch.tuning.graph import BertShape, build_graph
from toolsearch.tuning.lora import merge_adapters
from toolsearch.tuning.measure import ndcg_of
from toolsearch.tuning.pairs import PairSource

LEAST_COSINE = 0.99
"""An int8 encoder below this, on any text that it is checked with, is not written."""

CHECK_TEXTS = (
    "send an email to the whole team",
    "what will the weather be in Lisbon tomorrow?",
    "gitforge create issue: Open a new issue in a repository. Parameters: title; body: Markdown; labels",
    "paylane refund payment: Return money to a customer, in full or in part. Parameters: amount; reason",
    "list pods: Running pods of a namespace. Parameters: namespace; label selector; limit [10, 50, 100]",
    "delete",
)


@dataclass(frozen=True)
class ExportCheck:
    """How the int8 encoder compares with the float32 one that it was made of.

    Attributes:
        min_cosine, mean_cosine: Between the two vectors of a text.
        ndcg_fp32, ndcg_int8: NDCG@10 on the held-out sources, mean over them; None without any.
        size: Of the ONNX file, in bytes.
    """

    min_cosine: float
    mean_cosine: float
    ndcg_fp32: float | None
    ndcg_int8: float | None
    size: int


def export_encoder(
    encoder: TextEncoder,
    folder: Path,
    *,
    name: str,
    max_tokens: int = 256,
    query_prefix: str = "",
    document_prefix: str = "",
    check_texts: Sequence[str] = CHECK_TEXTS,
    held_out: Sequence[PairSource] = (),
) -> ExportCheck:
    """Write the encoder with its adapters merged as int8 ONNX, with tokenizer and ``encoder.json``.

    The encoder itself is left as it is.

    Args:
        encoder: A BERT model with gelu and absolute positions.
        folder: Made if need be; files of an earlier export are replaced.
        name: Begins the embedder's id.
        max_tokens: Where the embedder cuts texts.
        query_prefix, document_prefix: What the embedder puts in front of each text.
        check_texts: Texts whose vectors are compared, besides those of `held_out`.
        held_out: Sources on which the loss is measured.

    Raises:
        TuningError: the model is of another kind, or a vector of the int8 encoder is too far off.
    """
    config = encoder.model.config
    if config.hidden_act != "gelu" or getattr(config, "position_embedding_type", "absolute") != "absolute":
        raise TuningError("Only BERT models with gelu and absolute positions can be exported.")
    merged = deepcopy(encoder.model).cpu().float().eval()
    merge_adapters(merged)
    weights = {key: value.detach().numpy() for key, value in merged.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    content = build_graph(weights, BertShape.of(config)).SerializeToString()
    (folder / WEIGHTS).write_bytes(content)
    shutil.copyfile(encoder.folder / "tokenizer.json", folder / TOKENIZER)
    EncoderConfig(
        name=name,
        dim=encoder.dim,
        max_tokens=min(max_tokens, config.max_position_embeddings),
        unknown_token=encoder.unknown_token,
        weights_sha256=hashlib.sha256(content).hexdigest(),
        tokenizer_sha256=hashlib.sha256((folder / TOKENIZER).read_bytes()).hexdigest(),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
    ).write(folder)
    plain = TextEncoder(merged, encoder.tokenizer, encoder.name, encoder.sha256, encoder.folder)
    return _checked(plain, TunedEmbedder(folder), check_texts, held_out)


def _checked(
    plain: TextEncoder,
    made: TunedEmbedder,
    texts: Sequence[str],
    held_out: Sequence[PairSource],
) -> ExportCheck:
    config = EncoderConfig.read(made.folder)
    max_tokens = config.max_tokens
    cosines = [_cosines(plain.vectors(_with(config.document_prefix, texts), max_tokens), made, texts)]
    fp32, int8 = [], []
    for source in held_out:
        queries = [example.query for example in source.examples]
        asked = plain.vectors(_with(config.query_prefix, queries), max_tokens)
        told = plain.vectors(_with(config.document_prefix, source.documents), max_tokens)
        fp32.append(ndcg_of(asked, told, source))
        documents = made.embed_documents(source.documents)
        int8.append(ndcg_of(made.embed_queries(queries), documents, source))
        cosines.append((documents * told).sum(axis=1))
    together = np.concatenate(cosines)
    if together.min() < LEAST_COSINE:
        raise TuningError(
            f"The int8 encoder is too far from the trained one: cosine {together.min():.4f}, "
            f"not {LEAST_COSINE} or more."
        )
    return ExportCheck(
        float(together.min()),
        float(together.mean()),
        fmean(fp32) if fp32 else None,
        fmean(int8) if int8 else None,
        (made.folder / WEIGHTS).stat().st_size,
    )


def _cosines(rows: Vectors, made: TunedEmbedder, texts: Sequence[str]) -> Vectors:
    cosines: Vectors = (rows * made.embed_documents(texts)).sum(axis=1)
    return cosines


def _with(prefix: str, texts: Sequence[str]) -> list[str]:
    return [prefix + text for text in texts]
