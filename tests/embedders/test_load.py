"""A short text names an embedder, or the error says which texts do."""

import subprocess
import sys

import pytest

import toolsearch.embedders
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.http import HttpEmbedder
from toolsearch.embedders.load import BUNDLED_ID, MINILM_ID, load_embedder
from toolsearch.embedders.minilm import MiniLmEmbedder
from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder
from toolsearch.exceptions import EmbedderUnavailableError


@pytest.mark.parametrize("spec", ["default", BundledEmbedder().id])
def test_the_bundled_embedder_has_a_short_name_and_its_id(spec: str) -> None:
    embedder = load_embedder(spec)
    assert isinstance(embedder, BundledEmbedder)
    assert embedder.id == BundledEmbedder().id
    assert load_embedder().id == embedder.id


@pytest.mark.parametrize("spec", ["minilm", MiniLmEmbedder().id])
def test_plain_minilm_has_a_short_name_and_its_id(spec: str) -> None:
    embedder = load_embedder(spec)
    assert isinstance(embedder, MiniLmEmbedder)
    assert embedder.id == MiniLmEmbedder().id


@pytest.mark.parametrize("name", [BUNDLED_ID, MINILM_ID])
def test_an_embedder_of_another_release_is_not_taken_for_this_one(name: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"another release.*Rebuild"):
        load_embedder(f"{name}00000000")


def test_sentence_transformers_are_named_with_or_without_a_commit() -> None:
    commit = "a" * 40
    assert isinstance(load_embedder("st:BAAI/bge-small-en-v1.5"), SentenceTransformerEmbedder)
    assert load_embedder(f"st:acme/tiny@{commit}").id == f"st:acme/tiny@{commit}"


@pytest.mark.parametrize("spec", ["http://localhost:8080/v1#bge-small", "https://api.openai.com/v1#a/b:c"])
def test_an_endpoint_is_named_by_its_url_and_model_which_is_its_id(spec: str) -> None:
    embedder = load_embedder(spec)
    assert isinstance(embedder, HttpEmbedder)
    assert embedder.id == spec


@pytest.mark.parametrize("spec", ["http://localhost:8080/v1", "http://ada:secret@host/v1#", "http://#m"])
def test_an_endpoint_without_model_or_host_is_an_error(spec: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match="endpoint") as caught:
        load_embedder(spec)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("spec", ["", "st:", "bge-small", "ftp://host#m"])
def test_anything_else_is_an_error_that_lists_what_there_is(spec: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"Unknown embedder.*'default'.*'st:NAME'.*https://"):
        load_embedder(spec)


@pytest.mark.parametrize("spec", ["./nothing", "~nobody/encoder", "some/where", "/"])
def test_a_path_is_a_folder_that_tuning_wrote_or_an_error_that_names_it(spec: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"encoder\.json' describes no tuned encoder"):
        load_embedder(spec)


def test_every_exported_name_is_there() -> None:
    for name in toolsearch.embedders.__all__:
        assert getattr(toolsearch.embedders, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        _ = toolsearch.embedders.nothing


def test_choosing_an_embedder_loads_no_model_and_no_heavy_library() -> None:
    script = (
        "import sys, toolsearch.embedders\n"
        "light = set(sys.modules)\n"
        "toolsearch.embedders.load_embedder('default'), toolsearch.embedders.load_embedder('st:acme/tiny')\n"
        "print(sorted({'numpy', 'httpx', 'sqlite3'} & light))\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'torch', 'sentence_transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "[]", ""]


def test_the_protocol_is_exported() -> None:
    assert toolsearch.embedders.Embedder is Embedder
