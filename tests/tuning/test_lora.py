"""Adapters: what they compute, which layers they touch, and that they survive a file."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from toolsearch.tuning.encoder import load_encoder
from toolsearch.tuning.lora import (
    LowRankLinear,
    add_adapters,
    load_adapter_state,
    read_adapter,
    save_adapter,
    weaken_adapters,
)


def test_an_adapter_adds_its_scaled_product_to_the_map() -> None:
    torch.manual_seed(0)
    base = nn.Linear(5, 3)
    adapter = LowRankLinear(base, rank=2, alpha=6)
    x = torch.randn(4, 5)
    assert torch.equal(adapter(x), base(x))
    nn.init.normal_(adapter.up)
    expected = x @ (base.weight + 3 * adapter.up @ adapter.down).T + base.bias
    torch.testing.assert_close(adapter(x), expected)
    torch.testing.assert_close(adapter.merged()(x), expected)


def test_a_weakened_adapter_adds_less() -> None:
    base = nn.Linear(5, 3)
    adapter = LowRankLinear(base, rank=2, alpha=6)
    nn.init.normal_(adapter.up)
    x = torch.randn(4, 5)
    expected = base(x) + (adapter(x) - base(x)) * 0.25
    weaken_adapters(nn.Sequential(adapter), 0.25)
    torch.testing.assert_close(adapter(x), expected)
    torch.testing.assert_close(adapter.merged()(x), expected)


def test_only_adapters_of_the_uppermost_layers_are_trained(tiny_model: Path) -> None:
    encoder = load_encoder(tiny_model, precision="fp32", device="cpu")
    weights = add_adapters(encoder.model, rank=2, alpha=2, layers=1)
    trained = {name for name, p in encoder.model.named_parameters() if p.requires_grad}
    assert len(trained) == len(weights) == 12
    assert all(name.startswith("encoder.layer.1.") and name.endswith((".up", ".down")) for name in trained)


def test_rank_zero_trains_the_layers_themselves(tiny_model: Path) -> None:
    encoder = load_encoder(tiny_model, precision="fp32", device="cpu")
    add_adapters(encoder.model, rank=0, alpha=1, layers=1)
    for name, parameter in encoder.model.named_parameters():
        assert parameter.requires_grad == name.startswith("encoder.layer.1.")


def test_a_saved_adapter_gives_the_same_vectors_elsewhere(tiny_model: Path, tmp_path: Path) -> None:
    encoder = load_encoder(tiny_model, precision="fp32", device="cpu")
    for weight in add_adapters(encoder.model, rank=2, alpha=2):
        nn.init.normal_(weight, std=0.1)
    state = {name: p.detach().clone() for name, p in encoder.model.named_parameters() if p.requires_grad}
    save_adapter(tmp_path / "adapter.safetensors", state, {"base": "tiny"})
    read, metadata = read_adapter(tmp_path / "adapter.safetensors")
    assert metadata == {"base": "tiny"}
    other = load_encoder(tiny_model, precision="fp32", device="cpu")
    add_adapters(other.model, rank=2, alpha=2)
    load_adapter_state(other.model, read)
    texts = ["get rain", "send a letter"]
    np.testing.assert_allclose(other.vectors(texts, 16), encoder.vectors(texts, 16), atol=2e-3)
