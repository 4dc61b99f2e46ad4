"""Peers through a worker that fakes one: no peer is installed for these."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import REPOSITORY
from benchmarks.embedding import DocumentsRemembered
from benchmarks.peers import comparison
from benchmarks.peers.__main__ import main
from benchmarks.peers.comparison import (
    MEASURES,
    PEERS_RESULT,
    result,
    run_ours,
    run_peer,
    sampled,
    write,
)
from benchmarks.peers.environments import install, is_installed, worker_command
from benchmarks.peers.process import PeerError, PeerProcess, readable_names
from benchmarks.peers.protocol import decode_vectors, encode_vectors
from benchmarks.peers.registry import PEERS, Peer
from benchmarks.plots_peers import draw_peers
from benchmarks.report_peers import peers_section
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.evaluation.datasets import BenchQuery, Dataset, make_dataset
from toolsearch.exceptions import EvaluationError, SearchRequestError
from toolsearch.retrieval.base import SearchRequest
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import JsonObject, Tool

FAKE = [sys.executable, "-m", "benchmarks.peers.worker", "tests.benchmarks.fake_peer", "pytest"]

CATALOG = Catalog(
    [
        Tool(raw_name="send", source="mail", description="send a letter"),
        Tool(raw_name="read", source="mail", description="read a letter today"),
        Tool(raw_name="pay", description="pay money today"),
    ]
)


class Axes:
    """Documents along the first axis, queries along the second."""

    id = "minilm-l6-int8@axes"
    dim = 2

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.array([0, 1], np.float32), (len(texts), 1))

    def reads(self, text: str) -> float:
        return 1.0


@pytest.fixture
def worker() -> Iterator[PeerProcess]:
    with PeerProcess(FAKE, Axes()) as process:
        yield process


def ask(query: str, k: int = 10) -> SearchRequest:
    return SearchRequest(queries=(query,), k=k)


def test_a_worker_ranks_a_catalog_and_tells_its_times_and_versions(worker: PeerProcess) -> None:
    retriever = worker.index(CATALOG, 2)
    assert retriever.search(ask("read letter today")).names == ("mail__read", "mail__send")
    assert retriever.search(ask("today")).names == ("mail__read", "pay")
    assert retriever.search(ask("nothing else")).names == ()
    assert len(retriever.times) == 3
    assert all(times.wall_ms >= 0 and times.own_cpu_ms >= 0 for times in retriever.times)
    assert retriever.ready_s >= 0
    assert worker.versions == {
        "python": ".".join(map(str, sys.version_info[:3])),
        "pytest": pytest.__version__,
    }


def test_a_worker_takes_one_catalog_after_another(worker: PeerProcess) -> None:
    worker.index(CATALOG, 5)
    other = worker.index(Catalog([Tool(raw_name="sing", description="a song today")]), 5)
    assert other.search(ask("today")).names == ("sing",)


def test_what_a_worker_wants_embedded_comes_from_the_encoder_that_is_given(worker: PeerProcess) -> None:
    worker.index(CATALOG, 5)
    names, _ = worker.search("embed")
    assert names == ["1", "0", "0"]


def test_a_peer_that_is_given_no_encoder_may_not_ask() -> None:
    with PeerProcess(FAKE, None) as process:
        process.index(CATALOG, 5)
        with pytest.raises(PeerError, match="not given"):
            process.search("embed")


def test_texts_that_are_no_valid_unicode_reach_the_worker(worker: PeerProcess) -> None:
    retriever = worker.index(Catalog([Tool(raw_name="odd", description="half \ud83d of one\nand 中文")]), 5)
    assert retriever.search(ask("中文")).names == ("odd",)
    assert retriever.search(ask("\ud83d")).names == ("odd",)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("raise", "RuntimeError: out of luck"),
        ("die", "ended with 3: the last words"),
        ("invent", "'nothing', which is no tool"),
    ],
)
def test_a_peer_that_fails_is_told_as_such(worker: PeerProcess, query: str, message: str) -> None:
    retriever = worker.index(CATALOG, 5)
    with pytest.raises(PeerError, match=message):
        retriever.search(ask(query))


def test_a_peer_that_cannot_index_a_catalog_says_why(worker: PeerProcess) -> None:
    with pytest.raises(PeerError, match="ValueError: no such tool"):
        worker.index(Catalog([Tool(raw_name="broken")]), 5)


def test_a_worker_that_does_not_answer_is_ended() -> None:
    with PeerProcess(FAKE, None, within_s=5) as process:
        process.index(CATALOG, 5)
        process._within_s = 0.2  # starting Python may take longer than this
        with pytest.raises(PeerError, match="ended with"):
            process.search("hang")


def test_a_worker_that_does_not_start_says_why() -> None:
    command = [sys.executable, "-m", "benchmarks.peers.worker", "benchmarks.peers.missing"]
    with pytest.raises(PeerError, match="missing"), PeerProcess(command, None):
        pass


def test_a_peer_knows_no_filters(worker: PeerProcess) -> None:
    with pytest.raises(SearchRequestError):
        worker.index(CATALOG, 5).search(SearchRequest(queries=("a",), k=5, read_only=True))


def test_names_for_peers_are_readable_and_unique() -> None:
    tools = [
        Tool(raw_name="math.sum", id="1"),
        Tool(raw_name="math.sum", id="2"),
        Tool(raw_name="get quotes!", source="10000+ Quotes"),
        Tool(raw_name="发送"),
    ]
    assert list(readable_names(tools)) == ["math.sum", "math.sum_2", "10000_Quotes__get_quotes_", "发送"]
    assert list(readable_names(tools).values()) == tools


def test_vectors_survive_the_way() -> None:
    rows = np.array([[0.25, -1], [3, 1e-7]], np.float32)
    assert np.array_equal(np.array(decode_vectors(encode_vectors(rows)), np.float32), rows)


def test_a_sample_is_the_same_in_every_process_in_order_and_has_relevant_tools_alone() -> None:
    queries = [BenchQuery(f"q{i}", f"text {i}", ("pay",) if i % 4 else ()) for i in range(40)]
    dataset = make_dataset("many", CATALOG, queries)
    chosen = [query.id for query in sampled(dataset, 5).queries]
    assert chosen == ["q6", "q13", "q22", "q25", "q27"]
    assert [q.id for q in sampled(dataset, 5, seed=1).queries] != chosen
    assert len(sampled(dataset, 500).queries) == 30


@pytest.fixture
def datasets() -> list[Dataset]:
    def dataset(name: str, *golds: str) -> Dataset:
        texts = {"mail.send": "send", "mail.read": "read", "pay": "today"}
        return make_dataset(name, CATALOG, [BenchQuery(f"{name}/{g}", texts[g], (g,)) for g in golds])

    return [
        dataset("bench/one", "mail.send", "mail.read"),
        dataset("bench/two", "pay"),
        dataset("demo", "pay"),
    ]


def fake(query: str = "") -> Peer:
    return replace(PEERS["llama-index"], title="Fake", requirements=("fake==1",), usage="as it is")


@pytest.fixture
def as_fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A peer called ``fake``, and an encoder that needs no weights; a file for its vectors."""
    monkeypatch.setattr(comparison, "PEERS", {"fake": fake()})
    monkeypatch.setattr(comparison, "EMBEDDERS", {"minilm": Axes, "bundled": Axes})
    return tmp_path / "vectors.sqlite"


def start(peer: Peer, embedder: Embedder | None) -> AbstractContextManager[PeerProcess]:
    return PeerProcess(FAKE, embedder)


def compared(datasets: list[Dataset], vectors: Path) -> JsonObject:
    said: list[str] = []
    entries = [
        run_ours("hybrid", datasets, said.append, vectors=vectors),
        run_ours("untuned", datasets, said.append, vectors=vectors),
        run_ours("plain-bm25", datasets, said.append, vectors=vectors),
        run_peer("fake", datasets, start, said.append, vectors=vectors),
    ]
    assert len(said) == 12
    return result(entries, datasets, {"bench/one": 20, "bench/two": 1, "demo": 1})


def test_a_result_has_scores_intervals_differences_times_and_what_was_run(
    datasets: list[Dataset], as_fake: Path, tmp_path: Path
) -> None:
    """The fake answers "today" with `mail__read` before `pay`: half a point of rank, 1 / log2(3)."""
    found = compared(datasets, as_fake)
    ours, untuned, bm25, peer = found["retrievers"]
    second = 0.63093
    assert peer["datasets"]["bench/two"]["ndcg@10"] == pytest.approx(second, abs=1e-5)
    assert peer["datasets"]["bench/two"]["hit_rate@1"] == 0.0
    assert peer["over_sets"]["ndcg@10"] == pytest.approx((1 + second) / 2, abs=1e-5)
    assert peer["over_sets"]["sets"] == ["bench/one", "bench/two"]
    assert set(peer["over_sets"]["ci95"]) == set(MEASURES)
    difference = ours["over_sets"]["ndcg@10"] - peer["over_sets"]["ndcg@10"]
    assert peer["hybrid_minus_this"]["over_sets"]["ndcg@10"][0] == pytest.approx(difference, abs=1e-5)
    assert peer["versions"]["pytest"] == pytest.__version__
    assert peer["embedder"] == ours["embedder"] == untuned["embedder"] == Axes.id
    assert untuned["datasets"]["demo"]["ndcg@10"] == ours["datasets"]["demo"]["ndcg@10"]
    assert bm25["embedder"] is None
    assert bm25["datasets"]["demo"]["embedding_cpu_ms_p50"] == 0.0
    assert peer["datasets"]["demo"]["query_ms_p95"] >= peer["datasets"]["demo"]["query_ms_p50"] >= 0
    assert found["sets"]["bench/one"]["of"] == 20
    assert found["sets"]["bench/one"]["queries"] == 2
    write(found, tmp_path / "peers.json")
    assert json.loads((tmp_path / "peers.json").read_text()) == found
    assert str(tmp_path) not in json.dumps(found)


def test_a_peer_that_is_not_there_or_fails_is_named_and_has_no_figures(
    datasets: list[Dataset], as_fake: Path
) -> None:
    said: list[str] = []
    missing = run_peer("fake", datasets, None, said.append, vectors=as_fake)
    failing = make_dataset("bench/bad", CATALOG, [BenchQuery("q", "raise", ("pay",))])
    failed = run_peer("fake", [*datasets, failing], start, said.append, vectors=as_fake)
    assert missing.about["reason"] == "not installed"
    assert failed.about["reason"] == "failed at bench/bad"
    assert failed.reports == {}
    assert "python -m benchmarks.peers setup" in said[0]
    assert "out of luck" in said[-1]


def test_the_report_shows_each_retriever_and_where_the_default_is_not_ahead(
    datasets: list[Dataset], as_fake: Path
) -> None:
    found = compared(datasets, as_fake)
    found["retrievers"].append(
        {
            "name": "x",
            "title": "Absent",
            "ours": False,
            "status": "not run",
            "reason": "not installed",
            "usage": "its search",
            "embedder": None,
        }
    )
    text = "\n".join(peers_section(found))
    assert "| **ours, default** | " in text
    assert "| Fake | 0.500 [0.500, 0.500] |" in text
    assert "| Absent | not run: not installed |" in text
    assert "| one | 3 | 2 of 20 | " in text
    assert "Fake (python " in text
    for ours in ("default", "untuned"):
        for measure in ("NDCG@10", "hit rate@1"):
            tied = "ahead of every peer on 2 of 3 sets; not on one (Fake: +0.000)."
            assert f"{measure}: ours, {ours}, is {tied}" in text


def test_the_same_result_draws_the_same_plot(datasets: list[Dataset], as_fake: Path, tmp_path: Path) -> None:
    found = compared(datasets, as_fake)
    first, second = (draw_peers(found, tmp_path / name) for name in ("first", "second"))
    assert first is not None
    assert second is not None
    assert first.read_bytes() == second.read_bytes()
    assert draw_peers({"retrievers": [], "sets": {}}, tmp_path) is None


def test_peers_are_never_given_another_encoder_than_plain_minilm(
    datasets: list[Dataset], monkeypatch: pytest.MonkeyPatch, as_fake: Path
) -> None:
    class Tuned(Axes):
        id = "tuned@1"

    monkeypatch.setattr(comparison, "EMBEDDERS", {"minilm": Tuned, "bundled": Tuned})
    with pytest.raises(EvaluationError, match="plain all-MiniLM-L6-v2"):
        run_peer("fake", datasets, start, lambda line: None, vectors=as_fake)


def test_documents_are_embedded_once_and_queries_each_time(tmp_path: Path) -> None:
    inner = HashingEmbedder()
    for _ in range(2):
        embedder = DocumentsRemembered(inner, tmp_path / "vectors.sqlite")
        embedder.embed_documents(["one", "two"])
        embedder.embed_queries(["one"])
    assert sorted(inner.embedded) == ["one", "two"]
    assert inner.query_calls == [("one",), ("one",)]
    assert embedder.queries_cpu_ms > 0


def test_a_run_without_any_data_set_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert main(["run", "--set", "bench/none", "--data", str(tmp_path), "--out", str(out)]) == 2
    assert "bench/none cannot be read here" in capsys.readouterr().err
    assert not out.exists()


def test_an_environment_is_installed_once_and_again_for_other_requirements(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(
            command, 0 if "fake==1" in command else 1, "", "one\nno such release\n"
        )

    def create(folder: Path, **_: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr("subprocess.run", pip)
    monkeypatch.setattr("venv.create", create)
    assert not is_installed(fake(), tmp_path)
    assert install(fake(), tmp_path)
    assert not install(fake(), tmp_path)
    assert ran[0][-2:] == ["--quiet", "fake==1"]
    assert ran[0][0] == worker_command(fake(), tmp_path)[0]
    newer = replace(fake(), requirements=("fake==2",))
    assert not is_installed(newer, tmp_path)
    with pytest.raises(EvaluationError, match="no such release"):
        install(newer, tmp_path)
    assert not is_installed(newer, tmp_path)


def test_a_worker_needs_nothing_of_this_project_but_its_own_modules() -> None:
    """Its environment holds the peer alone."""
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('toolsearch', 'numpy', 'yaml', 'pydantic')))\n"
        "import benchmarks.peers.worker, benchmarks.peers.protocol\n"
        "print(sorted(name for name in sys.modules if name.startswith('benchmarks')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.strip() == str(
        ["benchmarks", "benchmarks.peers", "benchmarks.peers.protocol", "benchmarks.peers.worker"]
    )


def test_pydantic_ai_ranks_by_the_number_of_shared_words() -> None:
    """As its documentation says, ties in the order of the catalog; the package is among our own extras."""
    from benchmarks.peers.protocol import PeerTool
    from benchmarks.peers.pydantic_ai_keywords import build

    tools = [PeerTool(tool.name, description=tool.description) for tool in CATALOG.values()]

    def embed(*_: object) -> list[list[float]]:
        raise AssertionError("It embeds nothing.")

    search = build(tools, 10, embed)
    assert search("read a letter") == ["mail__read", "mail__send"]
    assert search("today") == ["mail__read", "pay"]
    assert search("?") == []


def test_every_peer_has_a_module_and_is_pinned() -> None:
    for peer in PEERS.values():
        module = REPOSITORY.joinpath(*peer.module.split(".")).with_suffix(".py")
        assert module.exists()
        assert "==" in peer.requirements[0]


def test_the_committed_result_has_every_peer_and_plain_minilm() -> None:
    committed = json.loads(PEERS_RESULT.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in committed["retrievers"]}
    assert rows.keys() == {*comparison.OURS, *PEERS}
    for name, peer in PEERS.items():
        if rows[name]["status"] == "run":
            assert rows[name]["datasets"].keys() == committed["sets"].keys()
            assert rows[name]["versions"][peer.package] == peer.requirements[0].partition("==")[2]
            assert bool(rows[name]["embedder"]) == peer.embeds
            assert str(rows[name]["embedder"] or "minilm-l6-int8@").startswith("minilm-l6-int8@")
