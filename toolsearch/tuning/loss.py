"""What training makes small."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

# In place of -inf, whose softmax has no gradient where a whole row is masked.
_NEVER = -1e4


def contrastive_loss(
    queries: Tensor, documents: Tensor, counts: Tensor, *, temperature: float, dims: Sequence[int] = ()
) -> Tensor:
    """Mean cross entropy of finding each query's document, and each document's query.

    `queries` (n, d) and `documents` (m, d) are unit rows, of which the first n belong together;
    `counts` (n, m) is False for pairs to leave out. For each of `dims` the same is asked of the leading
    dimensions alone, and all count the same.

    Source: van den Oord et al., 2018 (InfoNCE); Radford et al., ICML 2021 (both directions); Kusupati et
    al., NeurIPS 2022 (leading dimensions).
    """
    losses = []
    for dim in (queries.shape[1], *dims):
        q = queries if dim == queries.shape[1] else functional.normalize(queries[:, :dim], dim=1)
        d = documents if dim == documents.shape[1] else functional.normalize(documents[:, :dim], dim=1)
        scores = (q @ d.T / temperature).masked_fill(~counts, _NEVER)
        n = len(q)
        own = torch.arange(n, device=q.device)
        forth = functional.cross_entropy(scores, own)
        back = functional.cross_entropy(scores[:, :n].T, own)
        losses.append((forth + back) / 2)
    return torch.stack(losses).mean()


def distillation_loss(
    queries: Tensor,
    documents: Tensor,
    teacher_scores: Tensor,
    counts: Tensor,
    *,
    temperature: float,
    teacher_temperature: float,
) -> Tensor:
    """Mean Kullback-Leibler divergence of the teacher's choice among the documents from ours, in nats.

    `teacher_scores` (n, m) are cosines. Source: Hinton et al., 2015.
    """
    ours = (queries @ documents.T / temperature).masked_fill(~counts, _NEVER)
    theirs = (teacher_scores / teacher_temperature).masked_fill(~counts, _NEVER)
    return functional.kl_div(
        functional.log_softmax(ours, dim=1),
        functional.log_softmax(theirs, dim=1),
        log_target=True,
        reduction="batchmean",
    )
