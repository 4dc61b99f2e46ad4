"""Losses against their definitions, written out."""

import math

import pytest
import torch
from torch.nn import functional

from toolsearch.tuning.loss import contrastive_loss, distillation_loss


@pytest.fixture
def rows() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return (
        functional.normalize(torch.randn(3, 8, dtype=torch.float64), dim=1),
        functional.normalize(torch.randn(5, 8, dtype=torch.float64), dim=1),
    )


def softmax_loss(scores: list[float], own: int) -> float:
    return -math.log(math.exp(scores[own]) / sum(map(math.exp, scores)))


def test_each_query_is_asked_for_its_document_and_each_document_for_its_query(
    rows: tuple[torch.Tensor, torch.Tensor],
) -> None:
    queries, documents = rows
    counts = torch.ones(3, 5, dtype=torch.bool)
    counts[0, 3] = counts[1, 2] = False
    cosines = (queries @ documents.T).tolist()
    forth, back = [], []
    for i in range(3):
        kept = [j for j in range(5) if counts[i, j]]
        forth.append(softmax_loss([cosines[i][j] / 0.1 for j in kept], kept.index(i)))
        asking = [k for k in range(3) if counts[k, i]]
        back.append(softmax_loss([cosines[k][i] / 0.1 for k in asking], asking.index(i)))
    expected = (sum(forth) / 3 + sum(back) / 3) / 2
    assert float(contrastive_loss(queries, documents, counts, temperature=0.1)) == pytest.approx(expected)


def test_leading_dimensions_are_asked_the_same(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    queries, documents = rows
    counts = torch.ones(3, 5, dtype=torch.bool)
    short_queries, short_documents = (functional.normalize(each[:, :4], dim=1) for each in rows)
    whole = contrastive_loss(queries, documents, counts, temperature=0.1)
    part = contrastive_loss(short_queries, short_documents, counts, temperature=0.1)
    together = contrastive_loss(queries, documents, counts, temperature=0.1, dims=(4,))
    torch.testing.assert_close(together, (whole + part) / 2)


def test_a_teacher_who_agrees_costs_nothing(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    queries, documents = rows
    counts = torch.ones(3, 5, dtype=torch.bool)
    same = distillation_loss(
        queries, documents, queries @ documents.T, counts, temperature=0.1, teacher_temperature=0.1
    )
    assert float(same) == pytest.approx(0, abs=1e-12)
    other = distillation_loss(
        queries, documents, -queries @ documents.T, counts, temperature=0.1, teacher_temperature=0.1
    )
    assert float(other) > 0.1
