"""The training loop: seeded, resumable, ended early where held-out queries gain nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor, nn

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import TuningError
from toolsearch.tuning.batches import Batch, plan_batches
from toolsearch.tuning.checkpoint import Checkpoint, fingerprint, read_checkpoint, write_checkpoint
from toolsearch.tuning.encoder import TextEncoder
from toolsearch.tuning.lora import LowRankLinear, adapter_state, add_adapters, load_adapter_state
from toolsearch.tuning.loss import contrastive_loss, distillation_loss
from toolsearch.tuning.measure import mean_ndcg
from toolsearch.tuning.pairs import PairSource
from toolsearch.tuning.settings import TuneSettings


@dataclass(frozen=True)
class StepReport:
    """How training stands.

    Attributes:
        step: Steps done; 0 before the first.
        loss: Mean over the steps since the last measurement.
        ndcg: NDCG@10 on the held-out sources, where it was just measured.
        seconds: Since this process began to train.
    """

    step: int
    steps: int
    loss: float
    ndcg: float | None
    seconds: float


Report: TypeAlias = Callable[[StepReport], None]


@dataclass(frozen=True)
class Training:
    """What came of it; the encoder holds the best weights.

    Attributes:
        best_step: After which the weights were taken: the best measured, or the last.
        steps: Steps done in all.
        ndcg: (step, NDCG@10 on the held-out sources), 0 being the untrained encoder.
        losses: Loss of each step.
        state: The trained weights by name.
        settings: Those of the run, with the steps that were planned.
    """

    best_step: int
    steps: int
    ndcg: tuple[tuple[int, float], ...]
    losses: tuple[float, ...]
    seconds: float
    state: dict[str, Tensor] = field(repr=False)
    settings: TuneSettings


def train(
    encoder: TextEncoder,
    sources: Sequence[PairSource],
    settings: TuneSettings,
    *,
    held_out: Sequence[PairSource] = (),
    teacher: Embedder | None = None,
    folder: Path | None = None,
    resume: bool = False,
    progress: Report | None = None,
) -> Training:
    """Put adapters on the encoder and train them.

    Args:
        encoder: Without adapters; changed in place.
        sources: What to draw examples from.
        settings: See `TuneSettings`.
        held_out: Measured before, during and after; the best weights on them are kept.
        teacher: An embedder whose scores are followed, by `settings.distill`.
        folder: Where the checkpoint is; None keeps none.
        resume: Go on from the checkpoint in `folder`, to the weights of a run that never stopped.
        progress: Called after each step.

    Raises:
        TuningError: there is nothing to train on, the checkpoint is of other data or settings, or the loss
            is not finite.
    """
    if not any(map(len, sources)):
        raise TuningError("There is no example to train on.")
    if settings.distill and teacher is None:
        raise TuningError(f"distill is {settings.distill}, and there is no teacher.")
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    begun = time.monotonic()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        weights = add_adapters(
            encoder.model,
            rank=settings.rank,
            alpha=settings.alpha,
            layers=settings.layers,
            dropout=settings.dropout,
        )
    optimizer = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    mark = fingerprint(encoder.sha256, sources, held_out, settings)
    found = read_checkpoint(folder) if resume and folder is not None else None
    if found is not None:
        if found.mark != mark:
            raise TuningError(f"The checkpoint in {str(folder)!r} is of other data, settings or weights.")
        load_adapter_state(encoder.model, found.weights)
        optimizer.load_state_dict(found.optimizer)
    done = found or Checkpoint(mark, settings.steps)
    if found is None and settings.minutes is not None:
        run = _Run(encoder, settings, weights, optimizer, teacher)
        fitting = int(settings.minutes * 60 / run.seconds_a_step(sources))
        done.steps = max(1, min(settings.steps, fitting))
    settings = replace(settings, steps=done.steps)
    if found is None and held_out:
        done.ndcg.append((0, mean_ndcg(encoder, held_out, settings)))
        done.best = adapter_state(encoder.model)
        if progress is not None:
            progress(StepReport(0, settings.steps, math.nan, done.ndcg[0][1], time.monotonic() - begun))
    run = _Run(encoder, settings, weights, optimizer, teacher)
    _go_on(run, done, sources, held_out=held_out, folder=folder, progress=progress, begun=begun)
    if not held_out:
        done.best, done.best_step = adapter_state(encoder.model), done.step
    load_adapter_state(encoder.model, done.best)
    encoder.model.eval()
    return Training(
        done.best_step,
        done.step,
        tuple(done.ndcg),
        tuple(done.losses),
        time.monotonic() - begun,
        done.best,
        settings,
    )


def _go_on(
    run: _Run,
    done: Checkpoint,
    sources: Sequence[PairSource],
    *,
    held_out: Sequence[PairSource],
    folder: Path | None,
    progress: Report | None,
    begun: float,
) -> None:
    """Take the steps that are not done."""
    settings, encoder = run.settings, run.encoder
    batches = islice(plan_batches(sources, settings), done.step, settings.steps)
    for batch in batches:
        if done.is_over(settings):
            break
        done.losses.append(run.step(batch, done.step))
        done.step += 1
        measured = None
        if held_out and (done.step % settings.evaluate_every == 0 or done.step == settings.steps):
            measured = mean_ndcg(encoder, held_out, settings)
            if measured > max(value for _, value in done.ndcg):
                done.best, done.best_step = adapter_state(encoder.model), done.step
            done.ndcg.append((done.step, measured))
        last = done.step == settings.steps or done.is_over(settings)
        due = settings.checkpoint_every and (last or done.step % settings.checkpoint_every == 0)
        if folder is not None and due:
            done.weights, done.optimizer = adapter_state(encoder.model), run.optimizer.state_dict()
            write_checkpoint(folder, done)
        if progress is not None:
            recent = done.losses[-settings.evaluate_every :]
            loss = sum(recent) / len(recent)
            progress(StepReport(done.step, settings.steps, loss, measured, time.monotonic() - begun))


@dataclass(frozen=True)
class _Run:
    encoder: TextEncoder
    settings: TuneSettings
    weights: list[nn.Parameter]
    optimizer: torch.optim.Optimizer
    teacher: Embedder | None

    def step(self, batch: Batch, number: int) -> float:
        """The loss of a batch, whose gradient was followed."""
        settings = self.settings
        # Dropout of a step depends on its number alone, so that a resumed run goes on alike.
        torch.manual_seed(settings.seed * 1_000_003 + number)
        self.encoder.model.eval()
        for module in self.encoder.model.modules():
            if isinstance(module, LowRankLinear):
                module.dropout.train()
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, settings)
        loss = self._loss(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TuningError(f"The loss of step {number + 1} is {value}. Lower the learning rate.")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        nn.utils.clip_grad_norm_(self.weights, settings.clip)
        self.optimizer.step()
        return value

    def seconds_a_step(self, sources: Sequence[PairSource]) -> float:
        """What one of the first steps takes, without taking it; of three, as the first one sets things up."""
        taken = []
        for batch in islice(plan_batches(sources, self.settings), 3):
            begun = time.monotonic()
            self._loss(batch).backward()  # type: ignore[no-untyped-call, unused-ignore]
            self.optimizer.zero_grad(set_to_none=True)
            taken.append(time.monotonic() - begun)
        return sorted(taken)[1]

    def _loss(self, batch: Batch) -> Tensor:
        settings, encoder = self.settings, self.encoder
        queries = encoder.embed(
            [settings.query_prefix + text for text in batch.queries], settings.query_tokens
        )
        documents = encoder.embed(
            [settings.document_prefix + text for text in batch.documents], settings.document_tokens
        )
        counts = torch.from_numpy(batch.counts).to(queries.device)
        loss = contrastive_loss(
            queries, documents, counts, temperature=settings.temperature, dims=settings.dims
        )
        if self.teacher is None or not settings.distill:
            return loss
        rows = self.teacher.embed_queries(batch.queries) @ self.teacher.embed_documents(batch.documents).T
        followed = distillation_loss(
            queries,
            documents,
            torch.from_numpy(rows).to(queries.device),
            counts,
            temperature=settings.temperature,
            teacher_temperature=settings.teacher_temperature,
        )
        return (1 - settings.distill) * loss + settings.distill * followed


def learning_rate(step: int, settings: TuneSettings) -> float:
    """Of the step with this number, from 0: up in a line to the highest, then down a cosine to 0."""
    rise = max(1, round(settings.warmup * settings.steps))
    if step < rise:
        return settings.learning_rate * (step + 1) / rise
    gone = (step - rise) / max(1, settings.steps - rise)
    return settings.learning_rate * (1 + math.cos(math.pi * gone)) / 2
