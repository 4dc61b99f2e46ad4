"""What decides a tuning, apart from the data and the base model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, TypeAlias

Precision: TypeAlias = Literal["auto", "bf16", "fp32"]


@dataclass(frozen=True)
class TuneSettings:
    """All that decides how an encoder is trained; equal settings and data give equal weights on one machine.

    Attributes:
        steps: Optimizer steps.
        minutes: Fewer steps are planned where `steps` would take longer, by the time of the first ones; the
            same weights then need the same number of steps.
        seed: Of the first weights, of the batches and of dropout.
        rank: Of the adapters; 0 trains the weights of the chosen layers themselves.
        alpha: Adapters are scaled by ``alpha / rank``.
        layers: How many of the uppermost layers are trained; None trains all of them.
        learning_rate: At its highest, after the warm-up; it then falls to 0 along a cosine.
        warmup: Share of the steps over which it rises.
        keep: Share of what the adapters change that stays when they are merged, above 0 up to 1; with less,
            more of what the base model knew of other catalogs stays.
        weight_decay: As AdamW decouples it.
        dropout: On what goes into the adapters, in training only.
        clip: Longest gradient, as the norm over all trained weights.
        temperature: Cosines are divided by it before the softmax.
        batch_pairs: Queries a step, each with one of its tools.
        batch_sources: How many draws of a source a batch is made of; the queries of a draw share a catalog.
        hard_negatives: Mined tools that each query of a batch brings along.
        query_tokens, document_tokens: Texts are cut here in training.
        dims: Leading dimensions that are trained to do on their own, besides the whole vector.
        distill: Weight of the teacher's part in the loss, from 0 to 1; needs a teacher.
        teacher_temperature: What the teacher's cosines are divided by.
        evaluate_every: Steps between measurements on the held-out sources.
        patience: Measurements without a gain after which training ends; None never ends it.
        checkpoint_every: Steps between checkpoints; 0 writes none.
        precision: Of the matrix products; ``auto`` takes bf16 where the processor multiplies it natively.
        threads: Of torch; None leaves them as they are.
        device: As torch names it; ``auto`` takes a GPU where there is one.
        query_prefix, document_prefix: Put in front of each text, also by the embedder that is made.
    """

    steps: int = 200
    minutes: float | None = None
    seed: int = 0
    rank: int = 16
    alpha: float = 32.0
    layers: int | None = 4
    learning_rate: float = 6e-4
    warmup: float = 0.1
    keep: float = 1.0
    weight_decay: float = 0.01
    dropout: float = 0.0
    clip: float = 1.0
    temperature: float = 1 / 30
    batch_pairs: int = 60
    batch_sources: int = 3
    hard_negatives: int = 1
    query_tokens: int = 64
    document_tokens: int = 128
    dims: tuple[int, ...] = ()
    distill: float = 0.0
    teacher_temperature: float = 1 / 30
    evaluate_every: int = 50
    patience: int | None = None
    checkpoint_every: int = 50
    precision: Precision = "auto"
    threads: int | None = None
    device: str = "auto"
    query_prefix: str = ""
    document_prefix: str = ""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_pairs", "batch_sources", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not at least 1.")
        for name in ("rank", "hard_negatives", "checkpoint_every", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, not at least 0.")
        for name in ("temperature", "teacher_temperature", "learning_rate", "clip", "alpha"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}, not above 0.")
        if self.minutes is not None and not self.minutes > 0:
            raise ValueError(f"minutes is {self.minutes}, not above 0.")
        if self.batch_pairs < self.batch_sources:
            raise ValueError(f"{self.batch_pairs} pairs do not make {self.batch_sources} draws.")
        if not 0 < self.keep <= 1 or (self.keep < 1 and not self.rank):
            raise ValueError(f"keep is {self.keep}, not above 0 up to 1, or below 1 without adapters.")
        if not 0 <= self.distill <= 1:
            raise ValueError(f"distill is {self.distill}, not from 0 to 1.")

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """The settings that `to_json` wrote."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {key: value for key, value in record.items() if key in known}
        return cls(**{**values, "dims": tuple(values["dims"])})
