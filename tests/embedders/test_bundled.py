"""The bundled embedder: genuine files only, one vector a text, defined answers for odd texts."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers

from toolsearch.embedders import bundled
from toolsearch.embedders.base import Embedder, Vectors
from toolsearch.embedders.bundled import FOLDER, BundledEmbedder
from toolsearch.embedders.tuned import TOKENIZER, WEIGHTS, EncoderConfig
from toolsearch.exceptions import EmbedderUnavailableError

TOOLS = [
    "create issue: Open a new issue in a repository.",
    "send message: Post a message to a channel or a person.",
    "refund payment: Return money to a customer, in full or in part.",
    "get forecast: Weather for a place over the next days, with rain and wind by the hour.",
    "list pods: Running pods of a Kubernetes namespace.",
    "translate document: Translate a document into another language.",
    "x",
]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder(threads=1)


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(FOLDER / WEIGHTS))


@pytest.mark.parametrize("text", TOOLS)
def test_vectors_are_the_masked_mean_of_the_token_vectors(
    embedder: BundledEmbedder, session: onnxruntime.InferenceSession, text: str
) -> None:
    """Against the definition, with padding and all graph optimizations of the runtime."""
    tokenizer = tokenizers.Tokenizer.from_file(str(FOLDER / TOKENIZER))
    tokenizer.enable_padding(length=48)
    encoding = tokenizer.encode(text)
    (hidden,) = session.run(
        None,
        {
            "input_ids": np.array([encoding.ids]),
            "attention_mask": np.array([encoding.attention_mask]),
            "token_type_ids": np.array([encoding.type_ids]),
        },
    )
    count = sum(encoding.attention_mask)
    mean = sum(hidden[0, position] for position in range(count)) / count
    expected = mean / np.sqrt((mean * mean).sum())
    np.testing.assert_allclose(embedder.embed_documents([text])[0], expected, atol=2e-6)


def test_requests_are_nearest_to_the_tool_that_serves_them(embedder: BundledEmbedder) -> None:
    requests = ["open a bug report", "give the buyer his money back", "will it rain tomorrow?"]
    cosines = embedder.embed_queries(requests) @ embedder.embed_documents(TOOLS).T
    assert cosines.argmax(axis=1).tolist() == [0, 2, 3]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_text_has_one_vector_whatever_it_is_embedded_with(embedder: BundledEmbedder, threads: int) -> None:
    """Bit for bit: alone or in any batch, as query or document, on one thread or several (E191)."""
    texts = [f"{tool} {'and more ' * (i % 7)}{i}" for i, tool in enumerate(TOOLS * 12)]
    alone = np.concatenate([embedder.embed_queries([text]) for text in texts])
    shuffled = np.random.default_rng(0).permutation(len(texts))
    together = BundledEmbedder(threads=threads).embed_documents([texts[i] for i in shuffled])
    assert (together == alone[shuffled]).all()


def test_rows_are_unit_float32_in_the_order_of_the_texts(embedder: BundledEmbedder) -> None:
    rows = embedder.embed_documents(TOOLS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TOOLS), embedder.dim)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert (embedder.embed_documents(TOOLS[::-1]) == rows[::-1]).all()
    assert embedder.embed_documents([]).shape == (0, embedder.dim)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\x07", "\ud83d", "😀🎉", "\u200b"])
def test_a_text_without_known_tokens_gives_a_zero_row(embedder: BundledEmbedder, text: str) -> None:
    rows = embedder.embed_documents([text, "a", text])
    assert not rows[[0, 2]].any()
    assert (rows[1] == embedder.embed_queries(["a"])[0]).all()


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        ("refund\ud83d the payment", "refund the payment"),
        ("refund\x00 the payment", "refund the payment"),
        ("Refund\r\n\tTHE  Páyment", "refund the payment"),
        ("refund \ud83d\ude00 it", "refund 😀 it"),
    ],
)
def test_what_the_model_cannot_see_makes_no_difference(
    embedder: BundledEmbedder, odd: str, plain: str
) -> None:
    assert (embedder.embed_queries([odd]) == embedder.embed_queries([plain])).all()


def test_long_texts_are_read_from_their_beginning(embedder: BundledEmbedder) -> None:
    """50,000 characters whose first sentence asks for a translation find it (E126)."""
    query = "Translate a document. " + "Please do it well and soon. " * 1800
    assert len(query) > 50_000
    cosines = embedder.embed_queries([query]) @ embedder.embed_documents(TOOLS).T
    assert TOOLS[cosines.argmax()].startswith("translate document")
    beginning = embedder.embed_queries(["word " * 254])
    assert (embedder.embed_queries(["word " * 254 + "other " * 9000]) == beginning).all()
    assert (embedder.embed_queries(["word " * 253 + "other "]) != beginning).any()


def test_fewer_tokens_cut_earlier_and_change_the_id(embedder: BundledEmbedder) -> None:
    short = BundledEmbedder(max_tokens=4)
    assert (short.embed_queries(["one two three"]) == embedder.embed_queries(["one two"])).all()
    assert short.id != embedder.id


def test_the_id_names_exactly_these_files_and_steps(embedder: BundledEmbedder) -> None:
    """A change of this value says that every index must be rebuilt."""
    assert embedder.id == "toolsearch-minilm@ddbbe74e"
    assert BundledEmbedder(threads=7).id == embedder.id


@pytest.mark.parametrize("arguments", [{"max_tokens": 2}, {"max_tokens": 513}, {"threads": 0}])
def test_settings_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not"):
        BundledEmbedder(**arguments)


def test_progress_counts_every_text_once(embedder: BundledEmbedder) -> None:
    seen: list[tuple[int, int]] = []
    embedder.embed_documents([*TOOLS, ""], progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (1, 8)
    assert seen[-1] == (8, 8)
    assert seen == sorted(seen)


def test_an_interrupt_stops_all_threads() -> None:
    def interrupt(done: int, _: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    texts = [f"{tool} {i}" for i, tool in enumerate(TOOLS * 40)]
    embedder = BundledEmbedder(threads=2)
    with pytest.raises(KeyboardInterrupt):
        embedder.embed_documents(texts, progress=interrupt)
    assert embedder.embed_documents(["x"]).any()


def test_threads_may_share_a_new_embedder(embedder: BundledEmbedder) -> None:
    """The first calls come at once; one of them loads the model and all get its vectors."""
    shared = BundledEmbedder(threads=1)

    def embed(text: str) -> Vectors:
        return shared.embed_queries([text])

    with ThreadPoolExecutor(8) as pool:
        rows = np.concatenate(list(pool.map(embed, TOOLS * 4)))
    assert (rows == np.tile(embedder.embed_documents(TOOLS), (4, 1))).all()


def test_a_warm_embedder_has_loaded_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(bundled, "FOLDER", folder)
    cold, warm = BundledEmbedder(), BundledEmbedder()
    warm.warm_up()
    shutil.rmtree(folder)
    assert warm.embed_queries(TOOLS[:1]).any()
    with pytest.raises(EmbedderUnavailableError):
        cold.warm_up()


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_files_that_are_not_the_shipped_ones_are_refused(
    file: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(FOLDER, folder)
    content = bytearray((folder / file).read_bytes())
    (folder / file).unlink()
    if damage == "altered":
        content[-1] ^= 1
        (folder / file).write_bytes(content)
    monkeypatch.setattr(bundled, "FOLDER", folder)
    with pytest.raises(EmbedderUnavailableError, match=rf"{file}.*pip install .* toolsearch"):
        BundledEmbedder().embed_queries(["x"])


def test_the_folder_is_one_that_tuning_wrote() -> None:
    config = EncoderConfig.read(FOLDER)
    assert (config.name, config.dim, config.max_tokens) == (bundled.NAME, bundled.DIM, bundled.MAX_TOKENS)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("refund a payment", 1.0),
        ("créer tâche, größer, Đặt lịch họp", 1.0),
        ("cafe\u0301", 1.0),
        ("查询天气", 0.0),
        ("покажи погоду", 0.0),
        ("send 邮件", 4 / 6),
        ("12:30 + 7%", 1.0),
        ("😀", 1.0),
        ("", 1.0),
    ],
)
def test_it_reads_latin_letters(embedder: BundledEmbedder, text: str, share: float) -> None:
    assert embedder.reads(text) == pytest.approx(share)


def test_it_is_an_embedder(embedder: BundledEmbedder) -> None:
    assert isinstance(embedder, Embedder)


def test_a_single_query_runs_on_one_thread() -> None:
    embedder = BundledEmbedder(threads=2)
    embedder.embed_queries(["send an email"])
    options = embedder._encoder.model.session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
