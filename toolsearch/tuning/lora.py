"""Low-rank adapters on the linear maps of a BERT encoder.

Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional


class LowRankLinear(nn.Module):  # type: ignore[misc, unused-ignore]
    """A frozen linear map plus ``alpha / rank * up @ down``, of which only the two small maps are trained.

    `up` begins at zero: a new adapter changes nothing.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.dropout = nn.Dropout(dropout)
        weight = base.weight
        self.down = nn.Parameter(torch.empty(rank, base.in_features, device=weight.device))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=weight.device))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        low = functional.linear(self.dropout(x), self.down)
        out: Tensor = self.base(x) + functional.linear(low, self.up) * self.scale
        return out

    def merged(self) -> nn.Linear:
        """The base map with the adapter added into its weight; the base itself is changed."""
        with torch.no_grad():
            self.base.weight += self.scale * (self.up @ self.down)
        return self.base


def add_adapters(
    model: nn.Module, *, rank: int, alpha: float, layers: int | None = None, dropout: float = 0.0
) -> list[nn.Parameter]:
    """The weights to train, after adapters were put on every linear map of the uppermost `layers`.

    Everything else is frozen. With rank 0 the weights of those layers are trained themselves.
    """
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    stack = encoder_layers(model)
    chosen = list(stack)[-layers:] if layers is not None else list(stack)
    if rank == 0:
        trained = [parameter for layer in chosen for parameter in layer.parameters()]
        for parameter in trained:
            parameter.requires_grad_(True)
        return trained
    adapters = []
    for layer in chosen:
        for name, linear in [(n, m) for n, m in layer.named_modules() if isinstance(m, nn.Linear)]:
            adapter = LowRankLinear(linear, rank, alpha, dropout=dropout)
            _replace(layer, name, adapter)
            adapters.append(adapter)
    return [weight for adapter in adapters for weight in (adapter.down, adapter.up)]


def encoder_layers(model: nn.Module) -> nn.ModuleList:
    """The layers of a BERT encoder, lowest first."""
    layers = model.get_submodule("encoder.layer")
    assert isinstance(layers, nn.ModuleList)  # noqa: S101 - true of every BertModel
    return layers


def adapter_state(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the trained weights by name, as they are now."""
    return {name: p.detach().cpu().clone() for name, p in model.named_parameters() if p.requires_grad}


def load_adapter_state(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Put back weights that `adapter_state` gave for a model with the same adapters."""
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in state.items():
            parameters[name].copy_(value)


def weaken_adapters(model: nn.Module, keep: float) -> None:
    """Leave only this share of what the adapters change.

    Between the weights before and after training lie some that lose little on what was trained on and are
    better on what was not. Source: Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022.
    """
    for module in model.modules():
        if isinstance(module, LowRankLinear):
            module.scale *= keep


def merge_adapters(model: nn.Module) -> None:
    """Add every adapter into the weights that it adapts; the model then has none, and the same outputs."""
    for name, module in list(model.named_modules()):
        if isinstance(module, LowRankLinear):
            _replace(model, name, module.merged())


def save_adapter(path: Path, state: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write trained weights as float16 safetensors, half the size at a loss far below that of int8."""
    from safetensors.torch import save_file

    save_file({name: value.half().contiguous() for name, value in state.items()}, path, metadata)


def read_adapter(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The float32 weights and the metadata that `save_adapter` wrote."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name).float() for name in file.keys()}, file.metadata()  # noqa: SIM118


def _replace(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, module)
