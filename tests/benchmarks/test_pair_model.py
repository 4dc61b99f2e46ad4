"""A reranker in training: padding and company change no score, and it learns which tool serves."""

import numpy as np
import pytest
import torch

from benchmarks.pair_model import PairModel, States, encode, pair_loss, score_pairs
from tests.tuning.tiny import TOOLS, build_tiny_model
from toolsearch.document import render_document
from toolsearch.tuning.encoder import TextEncoder, load_encoder

QUERIES = ("what is the weather in my city", "send a letter", "pay")
DOCUMENTS = tuple(map(render_document, TOOLS))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TextEncoder:
    folder = tmp_path_factory.mktemp("tiny")
    build_tiny_model(folder)
    return load_encoder(folder, precision="fp32", device="cpu")


def states(encoder: TextEncoder, texts: tuple[str, ...], layers: int = 1) -> list[States]:
    return encode(encoder.model, [encoder.tokenize(text, 32) for text in texts], layers)


def test_the_states_of_a_text_are_those_of_the_encoder_alone(encoder: TextEncoder) -> None:
    together = states(encoder, DOCUMENTS)
    for made, text in zip(together, DOCUMENTS, strict=True):
        (alone,) = states(encoder, (text,))
        np.testing.assert_allclose(made.vector, encoder.vectors([text], 32)[0], atol=1e-6)
        np.testing.assert_allclose(made.upper, alone.upper, atol=1e-5)
        np.testing.assert_allclose(made.lower, alone.lower, atol=1e-5)


def test_a_pair_has_one_score_whatever_it_is_padded_with(encoder: TextEncoder) -> None:
    pairs = PairModel(encoder.model, 1)
    torch.manual_seed(0)
    with torch.no_grad():
        pairs.part.normal_()
        pairs.head.weight.normal_()
        asked, told = states(encoder, QUERIES), states(encoder, DOCUMENTS[:3])
        together = score_pairs(pairs, asked, told)
        alone = [score_pairs(pairs, [query], [tool])[0] for query, tool in zip(asked, told, strict=True)]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_the_loss_is_that_of_each_answer_and_of_the_order() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5], [1.0, 0.0, -3.0]])
    relevant = torch.tensor([[True, False, True], [False, False, False]])
    odds = torch.sigmoid(logits)
    each = -torch.where(relevant, odds, 1 - odds).log().mean()
    shares = torch.softmax(logits[0], dim=0)
    expected = 2 * each - (shares[0] + shares[2]).log()
    torch.testing.assert_close(pair_loss(logits, relevant), expected)
    torch.testing.assert_close(pair_loss(logits[1:], relevant[1:]), 2 * -(1 - odds[1]).log().mean())


def test_training_tells_the_tool_that_serves_from_the_others(encoder: TextEncoder) -> None:
    torch.manual_seed(0)
    pairs = PairModel(encoder.model, 1).train()
    asked, told = states(encoder, QUERIES), states(encoder, DOCUMENTS)
    relevant = torch.zeros(len(QUERIES), len(DOCUMENTS), dtype=torch.bool)
    for row, tool in enumerate((0, 2, 5)):
        relevant[row, tool] = True
    optimizer = torch.optim.AdamW(pairs.parameters(), lr=3e-3)
    for _ in range(40):
        logits = score_pairs(pairs, [query for query in asked for _ in told], told * len(asked)).view_as(
            relevant
        )
        loss = pair_loss(logits, relevant)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        optimizer.step()
    assert logits.argmax(dim=1).tolist() == [0, 2, 5]
    assert bool((logits[~relevant] < 0).all())
