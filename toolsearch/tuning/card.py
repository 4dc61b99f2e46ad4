"""The model card of a tuned encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolsearch.embedders.bundled import NAME
from toolsearch.tuning.comparison import Gain
from toolsearch.tuning.tune import TuneResult

CARD = "MODEL_CARD.md"


def write_card(
    result: TuneResult, *, command: str, data: Sequence[str], gains: Sequence[Gain] = (), n_held_out: int = 0
) -> Path:
    """Write ``MODEL_CARD.md`` beside the encoder, and say where.

    Args:
        result: What was made.
        command: The command line that made it.
        data: What it was trained on, a line each.
        gains: Before and after on held-out queries.
        n_held_out: How many queries those are.
    """
    path = result.folder / CARD
    path.write_text(_card(result, command, data, gains, n_held_out), encoding="utf-8")
    return path


def _card(
    result: TuneResult, command: str, data: Sequence[str], gains: Sequence[Gain], n_held_out: int
) -> str:
    training, settings, check = result.training, result.training.settings, result.check
    if settings.rank:
        trained = f"adapters of rank {settings.rank} (alpha {settings.alpha:g})"
    else:
        trained = "all weights"
    where = "every layer" if settings.layers is None else f"the upper {settings.layers} layers"
    lines = [
        f"# {result.embedder_id}",
        "",
        f"A sentence encoder for finding tools: {result.base[0]} (SHA-256 {result.base[1]}) with "
        f"{trained} on {where}, merged and stored in int8.",
        "",
        "## How it was made",
        "",
        f"    {command}",
        "",
        f"Seed {settings.seed}; {training.steps} of {settings.steps} steps of {settings.batch_pairs} pairs "
        f"in {training.seconds / 60:.1f} minutes; those after step {training.best_step} were taken. All "
        "settings are in `tuning.json`.",
        "",
        "Trained on:",
        "",
        *(f"- {line}" for line in data),
        "",
        "## What it gained",
        "",
        *_gains(gains, n_held_out),
        *_own_measure(result),
        f"In int8 it takes {check.size / 1e6:.1f} MB. The cosine of a text's vector to the one in float32 is "
        f"{check.mean_cosine:.4f} in the mean and {check.min_cosine:.4f} at the least." + _int8_loss(result),
        "",
        "## Where it is weak",
        "",
        "- It was tuned on the tools above. On other catalogs it may be worse than what it began with.",
        "- It reads English, as far as the base model does.",
        "- Requests like those that it was trained on gain most; others may gain nothing.",
        "",
        "## Licence",
        "",
        f"{result.base[0]} is licensed under the Apache License 2.0. The adapter is derived from the data "
        "above, whose terms apply to it."
        if result.base[0] in {"all-MiniLM-L6-v2", NAME}
        else "The terms of the base model and of the data above apply.",
        "",
    ]
    return "\n".join(lines)


def _gains(gains: Sequence[Gain], n: int) -> list[str]:
    if not gains:
        return []
    rows = [
        f"| {g.retriever} | {g.measure} | {g.before:.3f} | {g.after:.3f} | {g.after - g.before:+.3f} "
        f"[{g.low:+.3f}, {g.high:+.3f}] |"
        for g in gains
    ]
    return [
        f"On {n} queries that were held out, with 95 % intervals of a paired bootstrap:",
        "",
        "| search | measure | before | after | gain |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
    ]


def _own_measure(result: TuneResult) -> list[str]:
    ndcg = dict(result.training.ndcg)
    if not ndcg:
        return []
    best = ndcg[result.training.best_step]
    return [
        f"NDCG@10 of the vectors alone on what training was stopped by: {ndcg[0]:.3f} before, "
        f"{best:.3f} after.",
        "",
    ]


def _int8_loss(result: TuneResult) -> str:
    check = result.check
    if check.ndcg_fp32 is None or check.ndcg_int8 is None:
        return ""
    return f" NDCG@10 is {check.ndcg_fp32:.4f} in float32 and {check.ndcg_int8:.4f} in int8."
