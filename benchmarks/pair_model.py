"""The reranker that is trained: the upper layers of an encoder, in which a query reads a document."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from toolsearch.tuning.lora import encoder_layers

_MASKED = -1e9
_SCALE, _MIDDLE = 20.0, 0.5
"""The score before training is `_SCALE` times the cosine less `_MIDDLE`."""


class PairModel(nn.Module):  # type: ignore[misc, unused-ignore]
    """Scores a query and a document from the states that an encoder gave to each alone.

    The tokens of the query go through the upper layers as they do in the encoder, and attend to those of
    the document too, whose states stay what they are: so a document is encoded once, whatever is asked. The
    score is a logit: the scaled cosine of the query's new mean with the document's vector, plus a linear map
    of their product, their distance and the query's first token.

    Source: of documents encoded before they are read, MacAvaney et al., "Efficient Document Re-Ranking for
    Transformers by Precomputing Term Representations", SIGIR 2020.
    """

    def __init__(self, model: Any, layers: int) -> None:
        """Begins with the upper `layers` of a ``BertModel``, copied."""
        super().__init__()
        self.layers = deepcopy(nn.ModuleList(list(encoder_layers(model))[-layers:]))
        hidden = model.config.hidden_size
        self.n_heads = model.config.num_attention_heads
        self.part = nn.Parameter(torch.zeros(hidden))
        self.head = nn.Linear(3 * hidden, 1)
        self.scale = nn.Parameter(torch.tensor(_SCALE))
        nn.init.zeros_(self.head.weight)
        nn.init.constant_(self.head.bias, -_SCALE * _MIDDLE)

    def forward(
        self, query: Tensor, query_mask: Tensor, document: Tensor, document_mask: Tensor, vector: Tensor
    ) -> Tensor:
        """Logits (n,) of n pairs.

        Args:
            query: States (n, query tokens, hidden) below the upper layers, padded.
            query_mask, document_mask: 1.0 for tokens, 0.0 for padding.
            document: States (n, document tokens, hidden) below the last layer, padded.
            vector: The documents' unit vectors (n, hidden).
        """
        penalty = (1 - torch.cat([query_mask, document_mask], dim=1))[:, None, None, :] * _MASKED
        told = document + self.part
        x = query
        for layer in self.layers:
            x = self._read(layer, x, torch.cat([x, told], dim=1), penalty)
        weights = query_mask.unsqueeze(-1)
        mean = functional.normalize((x * weights).sum(dim=1) / weights.sum(dim=1), dim=1)
        features = torch.cat([mean * vector, (mean - vector).abs(), x[:, 0]], dim=1)
        logits: Tensor = self.head(features).squeeze(1) + self.scale * (mean * vector).sum(dim=1)
        return logits

    def _read(self, layer: Any, x: Tensor, seen: Tensor, penalty: Tensor) -> Tensor:
        """`x` after one layer in which its tokens attend to those that are seen."""
        maps = layer.attention.self
        q, k, v = self._heads(maps.query(x)), self._heads(maps.key(seen)), self._heads(maps.value(seen))
        shares = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + penalty).softmax(dim=-1)
        mixed = (shares @ v).transpose(1, 2).flatten(2)
        attended = layer.attention.output(mixed, x)
        out: Tensor = layer.output(layer.intermediate(attended), attended)
        return out

    def _heads(self, x: Tensor) -> Tensor:
        heads: Tensor = x.reshape(*x.shape[:2], self.n_heads, -1).transpose(1, 2)
        return heads


@dataclass(frozen=True)
class States:
    """What an encoder made of a text.

    Attributes:
        lower: (tokens, hidden) below the upper layers, as for a query.
        upper: (tokens, hidden) below the last layer, as for a document.
        vector: (hidden,), the text's unit vector.
    """

    lower: Tensor
    upper: Tensor
    vector: Tensor


def encode(model: Any, token_ids: Sequence[Sequence[int]], layers: int) -> list[States]:
    """The states of texts of any lengths, without gradients, for a `PairModel` of so many `layers`."""
    longest = max(map(len, token_ids))
    ids = torch.zeros(len(token_ids), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, each in enumerate(token_ids):
        ids[row, : len(each)] = torch.tensor(each)
        mask[row, : len(each)] = 1
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    made = []
    for row, each in enumerate(token_ids):
        n = len(each)
        vector = functional.normalize(hidden[-1][row, :n].mean(dim=0), dim=0)
        made.append(States(hidden[-1 - layers][row, :n].clone(), hidden[-2][row, :n].clone(), vector))
    return made


def score_pairs(pairs: PairModel, queries: Sequence[States], documents: Sequence[States]) -> Tensor:
    """Logits (n,) of `queries` with `documents`, one to one."""
    query, query_mask = _padded([each.lower for each in queries])
    document, document_mask = _padded([each.upper for each in documents])
    vectors = torch.stack([each.vector for each in documents])
    logits: Tensor = pairs(query, query_mask, document, document_mask, vectors)
    return logits


def pair_loss(logits: Tensor, relevant: Tensor) -> Tensor:
    """How far the logits (queries, candidates) are from telling which candidates are `relevant`.

    Twice the mean binary cross-entropy, which makes a logit say whether a tool serves the query at all, and
    for queries with a relevant candidate the cross-entropy of the softmax over the candidates.
    """
    absolute = functional.binary_cross_entropy_with_logits(logits, relevant.float())
    some = relevant.any(dim=1)
    if not some.any():
        return 2 * absolute
    logs = functional.log_softmax(logits[some], dim=1)
    listwise = -logs.masked_fill(~relevant[some], -torch.inf).logsumexp(dim=1).mean()
    return 2 * absolute + listwise


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    states = torch.zeros(len(rows), longest, rows[0].shape[1])
    mask = torch.zeros(len(rows), longest)
    for i, each in enumerate(rows):
        states[i, : len(each)] = each
        mask[i, : len(each)] = 1
    return states, mask
