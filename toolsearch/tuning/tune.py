"""From examples to a folder with an encoder, an adapter and a card that says what was gained."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.tuning.catalog_pairs import catalog_source
from toolsearch.tuning.checkpoint import FILE as CHECKPOINT
from toolsearch.tuning.encoder import load_encoder
from toolsearch.tuning.export import ExportCheck, export_encoder
from toolsearch.tuning.lora import save_adapter, weaken_adapters
from toolsearch.tuning.negatives import mine_negatives
from toolsearch.tuning.pairs import Example, PairSource, dataset_source, mix
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.training import Report, Training, train

ADAPTER = "adapter.safetensors"
RECORD = "tuning.json"
QUERY_SHARE = 0.75
"""Share of the draws that are queries, where there are any; the rest are parts of the tools' own texts."""


@dataclass(frozen=True)
class TuneResult:
    """What `tune` made.

    Attributes:
        folder: What `TunedEmbedder` reads.
        embedder_id: Its id, which an index manifest then holds.
        base: Name and SHA-256 of the weights that it began with.
        check: How int8 compares with float32.
    """

    folder: Path
    embedder_id: str
    base: tuple[str, str]
    training: Training = field(repr=False)
    check: ExportCheck
    sources: Mapping[str, int]

    def to_json(self) -> dict[str, object]:
        """All but the weights, as ``tuning.json`` holds it."""
        training = self.training
        return {
            "embedder_id": self.embedder_id,
            "base": {"name": self.base[0], "sha256": self.base[1]},
            "settings": training.settings.to_json(),
            "sources": dict(self.sources),
            "steps": training.steps,
            "best_step": training.best_step,
            "seconds": round(training.seconds, 1),
            "held_out_ndcg": [[step, round(value, 4)] for step, value in training.ndcg],
            "losses": [round(loss, 4) for loss in training.losses],
            "int8": asdict(self.check),
        }


def tune(
    sources: Sequence[PairSource],
    *,
    out: Path | str,
    settings: TuneSettings | None = None,
    held_out: Sequence[PairSource] = (),
    base: str | Path = "",
    name: str = "tuned",
    teacher: Embedder | None = None,
    resume: bool = False,
    progress: Report | None = None,
) -> TuneResult:
    """Train an encoder on `sources` and write it to `out`.

    The folder then holds ``model.int8.onnx``, ``tokenizer.json`` and ``encoder.json`` for `TunedEmbedder`,
    the adapter alone as ``adapter.safetensors``, and all figures in ``tuning.json``; while training runs
    also a checkpoint.

    Args:
        sources: Made by `sources_for`, `dataset_source` or `catalog_source`, perhaps weighted by `mix`.
        out: A folder; made if need be.
        settings: None takes the defaults.
        held_out: Sources to measure on; the best weights on them are taken. See `train`.
        base: The folder of a BERT sentence encoder with mean pooling, or as for `load_encoder`; empty for the
            bundled one.
        name: Begins the embedder's id.
        teacher: See `train`.
        resume: Go on from the checkpoint in `out`, where there is one.
        progress: Called after each step.

    Raises:
        TuningError: there is nothing to train on, the base cannot be loaded, or as for `train` and
            `export_encoder`.
    """
    settings = settings or TuneSettings()
    out = Path(out)
    encoder = load_encoder(base, device=settings.device, precision=settings.precision)
    training = train(
        encoder,
        sources,
        settings,
        held_out=held_out,
        teacher=teacher,
        folder=out,
        resume=resume,
        progress=progress,
    )
    weaken_adapters(encoder.model, settings.keep)
    out.mkdir(parents=True, exist_ok=True)
    metadata = {
        "base": encoder.name,
        "base_sha256": encoder.sha256,
        "settings": json.dumps(settings.to_json()),
    }
    save_adapter(out / ADAPTER, training.state, metadata)
    check = export_encoder(
        encoder,
        out,
        name=name,
        query_prefix=settings.query_prefix,
        document_prefix=settings.document_prefix,
        held_out=held_out,
    )
    counts = {source.name: len(source) for source in sources}
    base_facts = (encoder.name, encoder.sha256)
    result = TuneResult(out, TunedEmbedder(out).id, base_facts, training, check, counts)
    (out / RECORD).write_text(json.dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")
    (out / CHECKPOINT).unlink(missing_ok=True)
    return result


def sources_for(
    catalog: Catalog,
    queries: Dataset | None = None,
    *,
    without: Sequence[int] | set[int] = (),
    written: Sequence[Example] = (),
    query_share: float = QUERY_SHARE,
) -> list[PairSource]:
    """Sources with mined negatives for one catalog: its queries, and the tools' own texts.

    Args:
        catalog: Rows are its tools, in its order.
        queries: A data set over the same catalog; None for the catalog alone.
        without: Rows of tools of whose own texts no examples are made.
        written: More queries, such as `write_queries` gives; drawn like the tools' own texts.
        query_share: How many of the draws are queries.
    """
    own = catalog_source("the tools' own texts", tuple(catalog.values()))
    kept = [example for example in own.examples if not set(example.positives) & set(without)]
    texts = mine_negatives(own.with_examples([*kept, *written]))
    asked = [] if queries is None else [mine_negatives(dataset_source(queries, name="queries"))]
    return mix((asked, query_share), ([texts], 1 - query_share if any(map(len, asked)) else 1.0))
