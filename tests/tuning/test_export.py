"""Export: the graph computes what the model does, in int8 nearly so, and the folder is what it says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tests.tuning.tiny import TOOLS
from toolsearch.embedders.load import load_embedder
from toolsearch.embedders.tuned import WEIGHTS, EncoderConfig, TunedEmbedder
from toolsearch.exceptions import EmbedderUnavailableError, TuningError
from toolsearch.tuning import export
from toolsearch.tuning.encoder import TextEncoder, load_encoder
from toolsearch.tuning.export import export_encoder
from toolsearch.tuning.graph import BertShape, build_graph, quantized
from toolsearch.tuning.lora import add_adapters, merge_adapters
from toolsearch.tuning.pairs import Example, tool_source
from toolsearch.tuning.weights import read_weights

TEXTS = ["get the weather", "send a letter", "pay", "track a parcel of my order for the day : the rain . sun"]


@pytest.fixture
def encoder(tiny_model: Path) -> TextEncoder:
    """With adapters that change what it says."""
    encoder = load_encoder(tiny_model, precision="fp32", device="cpu")
    torch.manual_seed(1)
    for weight in add_adapters(encoder.model, rank=2, alpha=4):
        torch.nn.init.normal_(weight, std=0.1)
    return encoder


def test_the_graph_computes_what_the_model_does(encoder: TextEncoder) -> None:
    """Also with padding, and in any batch."""
    merge_adapters(encoder.model)
    weights = {key: value.detach().numpy() for key, value in encoder.model.state_dict().items()}
    model = build_graph(weights, BertShape(32, 2, 2, 1e-12), int8=False)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ids = np.array([[2, 7, 8, 9, 3], [2, 12, 3, 0, 0]])
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    (hidden,) = session.run(
        None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    )
    with torch.inference_mode():
        expected = encoder.model(torch.tensor(ids), torch.tensor(mask)).last_hidden_state.numpy()
    np.testing.assert_allclose(hidden[mask == 1], expected[mask == 1], atol=1e-5)


def test_merging_adapters_changes_no_vector(encoder: TextEncoder) -> None:
    before = encoder.vectors(TEXTS, 32)
    merge_adapters(encoder.model)
    np.testing.assert_allclose(encoder.vectors(TEXTS, 32), before, atol=1e-6)


def test_int8_values_are_off_by_at_most_half_a_step() -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    matrix[:, 2] = 0
    values, scales = quantized(matrix, axis=0)
    assert scales.shape == (1, 7)
    assert (np.abs(values * scales - matrix) <= scales / 2 + 1e-7).all()
    assert (np.abs(values).max(axis=0)[[0, 1, 3]] == 127).all()


def test_the_folder_is_an_embedder_near_the_trained_model(encoder: TextEncoder, tmp_path: Path) -> None:
    before = encoder.vectors(TEXTS, 64)
    source = tool_source("tools", TOOLS).with_examples([Example("get money", (6,))])
    check = export_encoder(encoder, tmp_path, name="acme", held_out=[source], check_texts=TEXTS)
    embedder = load_embedder(str(tmp_path))
    assert isinstance(embedder, TunedEmbedder)
    assert embedder.id.startswith("acme@")
    assert embedder.dim == 32
    cosines = (embedder.embed_documents(TEXTS) * before).sum(axis=1)
    assert cosines.min() > 0.99
    assert check.min_cosine <= check.mean_cosine <= 1 + 1e-6
    assert check.size == (tmp_path / WEIGHTS).stat().st_size
    assert check.ndcg_fp32 is not None
    np.testing.assert_allclose(encoder.vectors(TEXTS, 64), before, atol=1e-6)


def test_the_id_names_the_weights_and_the_prefixes(encoder: TextEncoder, tmp_path: Path) -> None:
    export_encoder(encoder, tmp_path, name="a", check_texts=TEXTS)
    one = TunedEmbedder(tmp_path)
    export_encoder(encoder, tmp_path, name="a", check_texts=TEXTS, query_prefix="get ")
    prefixed = TunedEmbedder(tmp_path)
    assert prefixed.id != one.id
    assert (prefixed.embed_queries(["rain"]) == one.embed_queries(["get rain"])).all()
    assert (prefixed.embed_documents(["rain"]) == one.embed_documents(["rain"])).all()
    assert not prefixed.embed_queries([" "]).any()
    config = EncoderConfig.read(tmp_path)
    assert replace(config, weights_sha256="0" * 64).id != config.id


def test_an_altered_file_is_refused(encoder: TextEncoder, tmp_path: Path) -> None:
    export_encoder(encoder, tmp_path, name="a", check_texts=TEXTS)
    content = bytearray((tmp_path / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (tmp_path / WEIGHTS).write_bytes(content)
    with pytest.raises(EmbedderUnavailableError, match="SHA-256"):
        TunedEmbedder(tmp_path).embed_queries(["rain"])


def test_an_int8_encoder_too_far_off_is_an_error(
    encoder: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "LEAST_COSINE", 1.5)
    with pytest.raises(TuningError, match="too far"):
        export_encoder(encoder, tmp_path, name="a", check_texts=TEXTS)


def test_an_exported_encoder_can_be_tuned_further(encoder: TextEncoder, tmp_path: Path) -> None:
    """Its weights are read back from the int8 file: the vectors are those of the embedder."""
    export_encoder(encoder, tmp_path, name="a", check_texts=TEXTS)
    again = load_encoder(tmp_path, precision="fp32", device="cpu")
    np.testing.assert_allclose(
        again.vectors(TEXTS, 64), TunedEmbedder(tmp_path).embed_documents(TEXTS), atol=1e-5
    )
    add_adapters(again.model, rank=2, alpha=4)
    further = export_encoder(again, tmp_path / "further", name="b", check_texts=TEXTS)
    assert further.min_cosine > 0.999


def test_each_weight_is_read_back_as_it_was_given(encoder: TextEncoder, tmp_path: Path) -> None:
    merge_adapters(encoder.model)
    weights = {key: value.detach().numpy() for key, value in encoder.model.state_dict().items()}
    shape = BertShape(32, 2, 2, 1e-12)
    onnx.save(build_graph(weights, shape, int8=False), tmp_path / "exact.onnx")
    read, read_shape = read_weights(tmp_path / "exact.onnx")
    assert read_shape == shape
    assert read.keys() == weights.keys()
    for name, expected in weights.items():
        np.testing.assert_allclose(read[name], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("content", [b"", b"no graph", b"\x08\x08"])
def test_a_file_that_holds_no_such_graph_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(TuningError, match=r"model\.onnx' holds no encoder that can be tuned"):
        read_weights(tmp_path / "model.onnx")
