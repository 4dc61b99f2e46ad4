"""Train the reranker, on top of the bundled encoder.

    python -m benchmarks.train_reranker -o DIR [--data DIR] [--without SET ...] [--steps N] [--layers N]

What it is trained on: `benchmarks.reranker_data`. Writes what `PairReranker` reads, the weights as
`pairs.pt`, and `training.json`; and `states-N.pt`, what the encoder made of every text, so that another
training in the same folder begins at once.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from benchmarks.data import DEFAULT_DATA
from benchmarks.pair_graph import export_reranker
from benchmarks.pair_model import PairModel, States, encode, pair_loss, score_pairs
from benchmarks.reranker_data import CANDIDATES, Group, groups, training_data
from benchmarks.results import SEED
from toolsearch.embedders.base import Vectors
from toolsearch.tuning.encoder import TextEncoder, load_encoder

QUERY_TOKENS = 40
DOCUMENT_TOKENS = 64
NAME = "toolsearch-reranker"
WEIGHTS = "pairs.pt"
RECORD = "training.json"
_STATES = "states-{}.pt"
_RUN = 24
_WARMUP = 0.05
_HEAD_RATE = 10.0
"""So many times faster than the layers, which begin with what they know."""


class Library:
    """What the encoder makes of texts, each of which is encoded once."""

    def __init__(self, encoder: TextEncoder, layers: int) -> None:
        self.encoder = encoder
        self.layers = layers
        self.kept: dict[str, States] = {}

    def states(self, texts: Sequence[str], max_tokens: int) -> list[States]:
        """The states of each text; kept in half precision."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.kept]
        ids = {text: self.encoder.tokenize(text, max_tokens) for text in missing}
        missing.sort(key=lambda text: len(ids[text]))
        for start in range(0, len(missing), _RUN):
            run = missing[start : start + _RUN]
            for text, made in zip(
                run, encode(self.encoder.model, [ids[t] for t in run], self.layers), strict=True
            ):
                self.kept[text] = States(made.lower.half(), made.upper.half(), made.vector)
        return [States(s.lower.float(), s.upper.float(), s.vector) for s in map(self.kept.__getitem__, texts)]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), and the states kept on the way."""
        return np.stack([s.vector.numpy() for s in self.states(texts, DOCUMENT_TOKENS)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_reranker", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--without", nargs="+", default=[], metavar="SET")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--queries", type=int, default=8, help="a step")
    parser.add_argument("--learning-rate", type=float, default=1.5e-4)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    library = Library(load_encoder(device="cpu", precision="fp32"), options.layers)
    states = options.output / _STATES.format(options.layers)
    if states.exists():
        library.kept = torch.load(states, weights_only=False)
    ranked = training_data(options.data, library.vectors, seed=options.seed, without=options.without)
    torch.save(library.kept, states)
    model = PairModel(library.encoder.model, options.layers).train()
    head = [model.part, model.scale, *model.head.parameters()]
    optimizer = torch.optim.AdamW(
        [
            {"params": model.layers.parameters(), "rate": options.learning_rate},
            {"params": head, "rate": options.learning_rate * _HEAD_RATE},
        ],
        lr=options.learning_rate,
        weight_decay=0.01,
    )
    drawn = groups(ranked, seed=options.seed)
    losses: list[float] = []
    begun = time.monotonic()
    for step in range(options.steps):
        for each in optimizer.param_groups:
            each["lr"] = each["rate"] * _rate(step, options.steps)
        losses.append(_step(model, library, list(islice(drawn, options.queries)), optimizer))
        if (step + 1) % 25 == 0:
            seconds = time.monotonic() - begun
            print(
                f"step {step + 1} of {options.steps}: loss {np.mean(losses[-25:]):.3f}, {seconds:.0f} s",
                flush=True,
            )
        if (step + 1) % 100 == 0 or step + 1 == options.steps:
            torch.save(model.state_dict(), options.output / WEIGHTS)
    export_reranker(
        model.eval(),
        library.encoder,
        options.output,
        name=NAME,
        query_tokens=QUERY_TOKENS,
        document_tokens=DOCUMENT_TOKENS,
    )
    record = {
        "base": library.encoder.sha256,
        "settings": {k: v for k, v in vars(options).items() if k not in ("output", "data", "threads")},
        "candidates": CANDIDATES,
        "sources": {each.source.name: len(each.source) for each in ranked},
        "seconds": round(time.monotonic() - begun),
        "losses": [round(loss, 4) for loss in losses],
    }
    (options.output / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _step(
    model: PairModel, library: Library, batch: Sequence[Group], optimizer: torch.optim.Optimizer
) -> float:
    """The loss of a batch, whose gradient was followed."""
    queries = library.states([group.query for group in batch], QUERY_TOKENS)
    documents = library.states([text for group in batch for text in group.documents], DOCUMENT_TOKENS)
    asked = [query for query in queries for _ in range(CANDIDATES)]
    order = sorted(range(len(documents)), key=lambda i: len(documents[i].upper))
    parts = []
    for start in range(0, len(order), _RUN):
        run = order[start : start + _RUN]
        parts.append(score_pairs(model, [asked[i] for i in run], [documents[i] for i in run]))
    logits = torch.empty(len(order)).index_put((torch.tensor(order),), torch.cat(parts))
    relevant = torch.tensor([group.relevant for group in batch])
    loss = pair_loss(logits.view(len(batch), CANDIDATES), relevant)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _rate(step: int, steps: int) -> float:
    """Up in a line, then down a cosine to 0."""
    rise = max(1, round(_WARMUP * steps))
    if step < rise:
        return (step + 1) / rise
    return (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise))) / 2


if __name__ == "__main__":
    sys.exit(main())
