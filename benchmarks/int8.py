"""What int8 costs: encoders exported with int8 weights against the same with float32 weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.embedding import RememberingEmbedder
from benchmarks.peers.comparison import sampled
from benchmarks.results import SEED
from benchmarks.scored import Scores, score_set
from benchmarks.unseen import ndcg
from toolsearch.embedders.tuned import WEIGHTS, EncoderConfig, TunedEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.tools import JsonObject
from toolsearch.tuning.encoder import MINILM, TextEncoder, load_encoder
from toolsearch.tuning.export import export_encoder
from toolsearch.tuning.graph import BertShape, build_graph
from toolsearch.tuning.lora import merge_adapters
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.split import split_queries
from toolsearch.tuning.training import train
from toolsearch.tuning.tune import sources_for

SETS = ("demo", *(BENCH_PREFIX + name for name in ("livemcpbench", "nestful", "apibank", "tooltalk")))
QUERIES_PER_SET = 400
STEPS = 8
PAIRS = 40
HELD_OUT = 0.3


def int8(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """NDCG@10 of an encoder before and after a short training, with weights of either kind."""
    del datasets, embedder
    demo = load_named("demo", DEFAULT_DATA)
    asked, held = split_queries(demo, share=HELD_OUT, seed=SEED)
    sets = [held, *(load_named(name, DEFAULT_DATA) for name in SETS[1:] if is_there(name, DEFAULT_DATA))]
    sets = [sampled(each, QUERIES_PER_SET) for each in sets]
    plain = load_encoder(MINILM, device="cpu", precision="fp32")
    rows = _rows("all-MiniLM-L6-v2", plain, sets)
    settings = TuneSettings(steps=STEPS, batch_pairs=PAIRS, layers=None, document_tokens=64, seed=SEED)
    train(plain, sources_for(demo.catalog, asked), settings)
    merge_adapters(plain.model)
    rows += _rows(f"tuned on the demo set by {STEPS} steps", plain, sets)
    return {
        "title": "What int8 costs",
        "text": (
            "NDCG@10 of an encoder with int8 weights, as it is exported, less that with the float32 weights "
            "that they were made of, in points: by the cosine alone, and fused with BM25. Of the demo set "
            f"the {len(sets[0].queries)} requests that were held out, of other sets at most "
            f"{QUERIES_PER_SET}. The float32 weights of the encoder that ships were not kept; it was "
            "exported the same way."
        ),
        "columns": [
            "encoder",
            "set",
            "dense, float32",
            "dense, int8",
            "fused, float32",
            "fused, int8",
            "points",
        ],
        "rows": rows,
    }


def _rows(name: str, encoder: TextEncoder, sets: Sequence[Dataset]) -> list[list[object]]:
    with TemporaryDirectory() as small, TemporaryDirectory() as large:
        export_encoder(encoder, Path(small), name="int8")
        export_encoder(encoder, Path(large), name="float32")
        _write_float32(encoder, Path(large))
        folders = (Path(large), Path(small))
        figures = [[_figures(each, TunedEmbedder(folder)) for folder in folders] for each in sets]
    names = [*(each.name.removeprefix(BENCH_PREFIX) for each in sets), "mean"]
    values = np.round([(full[0], short[0], full[1], short[1]) for full, short in figures], 4)
    return [
        [name, shown, *np.round(row, 4).tolist(), _points(row)]
        for shown, row in zip(names, [*values, values.mean(axis=0)], strict=True)
    ]


def _points(values: Scores) -> str:
    """What int8 costs by the cosine alone and fused."""
    return "/".join(f"{100 * (values[i + 1] - values[i]):+.2f}" for i in (0, 2))


def _write_float32(encoder: TextEncoder, folder: Path) -> None:
    """Put float32 weights into the place of int8 ones, in a folder that `export_encoder` wrote."""
    weights = {key: value.detach().numpy() for key, value in encoder.model.state_dict().items()}
    content = build_graph(weights, BertShape.of(encoder.model.config), int8=False).SerializeToString()
    (folder / WEIGHTS).write_bytes(content)
    facts = replace(EncoderConfig.read(folder), weights_sha256=hashlib.sha256(content).hexdigest())
    facts.write(folder)


def _figures(dataset: Dataset, embedder: TunedEmbedder) -> tuple[float, float]:
    """NDCG@10 by the cosine alone, and fused."""
    scored = score_set(dataset, embedder)
    dense, fused = (
        ndcg(scored.queries, (ids for _, ids, _ in scored.rankings(scored.fused(weight, 0.0))))
        for weight in (0.0, LEXICAL_WEIGHT)
    )
    return dense, fused
