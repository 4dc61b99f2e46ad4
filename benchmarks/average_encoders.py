"""One encoder from several trainings: the weighted mean of their weights and of those that they began with.

    python -m benchmarks.average_encoders -o DIR --keep SHARE FOLDER[=WEIGHT] ...

Each folder is one that `benchmarks.train_encoder` wrote. Means of runs, and of what they began with, do
better on what none of them saw. Source: Wortsman et al., "Model soups", ICML 2022, and "Robust fine-tuning
of zero-shot models", CVPR 2022.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks.encoder_card import ENCODER_RECORD
from toolsearch.embedders.bundled import NAME
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.exceptions import ToolSearchError
from toolsearch.tools import JsonObject
from toolsearch.tuning.encoder import MINILM, TextEncoder, load_encoder
from toolsearch.tuning.export import ExportCheck, export_encoder
from toolsearch.tuning.lora import add_adapters, load_adapter_state, merge_adapters, read_adapter
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.tune import ADAPTER, RECORD


def main(arguments: Sequence[str] | None = None) -> int:
    """Average as the command line says; the exit code."""
    options = _parser().parse_args(arguments)
    weights = dict(map(_weighted, options.folders))
    try:
        averaged = average(weights, keep=options.keep, base=options.base)
        check = export_encoder(averaged, options.output, name=NAME)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    record = _record(weights, options.keep, check, options.output)
    options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record["embedder_id"], check)
    return 0


def average(weights: Mapping[Path, float], *, keep: float, base: str = MINILM) -> TextEncoder:
    """The base encoder with `keep` times the weighted mean of what each training changed."""
    encoder = load_encoder(base, device="cpu", precision="fp32")
    began = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    mean = {name: torch.zeros_like(value) for name, value in began.items()}
    for folder, weight in weights.items():
        merged = _merged(folder, base)
        for name, value in merged.items():
            mean[name] += (value - began[name]) * (weight / sum(weights.values()))
    encoder.model.load_state_dict({name: began[name] + keep * change for name, change in mean.items()})
    return encoder


def _merged(folder: Path, base: str) -> Mapping[str, torch.Tensor]:
    encoder = load_encoder(base, device="cpu", precision="fp32")
    state, metadata = read_adapter(folder / ADAPTER)
    settings = TuneSettings.from_json(json.loads(metadata["settings"]))
    add_adapters(encoder.model, rank=settings.rank, alpha=settings.alpha, layers=settings.layers)
    load_adapter_state(encoder.model, state)
    merge_adapters(encoder.model)
    weights: Mapping[str, torch.Tensor] = encoder.model.state_dict()
    return weights


def _record(weights: Mapping[Path, float], keep: float, check: ExportCheck, output: Path) -> JsonObject:
    """What the card is written from; folders by name alone."""
    runs = [
        {**json.loads((folder / RECORD).read_text(encoding="utf-8")), "name": folder.name, "weight": weight}
        for folder, weight in weights.items()
    ]
    return {
        "embedder_id": TunedEmbedder(output).id,
        "base": runs[0]["base"],
        "keep": keep,
        "int8": asdict(check),
        "runs": [{key: value for key, value in run.items() if key != "int8"} for run in runs],
    }


def _weighted(text: str) -> tuple[Path, float]:
    folder, _, weight = text.partition("=")
    return Path(folder), float(weight or 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.average_encoders", description="Average encoders."
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=WEIGHT]")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--keep", type=float, default=0.8, help="share of the mean change that is kept")
    parser.add_argument("--base", default=MINILM, metavar="DIR", help="what the runs began with")
    parser.add_argument("--record", type=Path, default=ENCODER_RECORD, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
