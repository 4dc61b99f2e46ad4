"""A peer's worker as a `Retriever`."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

from benchmarks.baselines import plain_query
from benchmarks.data import REPOSITORY
from benchmarks.embedding import DocumentsRemembered
from benchmarks.peers.protocol import PeerTool, encode_vectors, write_message
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EvaluationError
from toolsearch.retrieval.base import Retriever, ScoredTool, SearchRequest, SearchResult
from toolsearch.tools import JsonObject, Tool

ANSWER_WITHIN_S = 600.0
"""A worker that takes longer for one answer is ended. Indexing a catalog is one answer."""


@dataclass(frozen=True)
class SearchTimes:
    """What one search took.

    Attributes:
        wall_ms: As a caller waits for it; says more of other work than of the search on a busy machine.
        embedding_cpu_ms: Processor time for the embedding of the query, which is the same for all.
        own_cpu_ms: Processor time for everything else.
    """

    wall_ms: float
    embedding_cpu_ms: float
    own_cpu_ms: float


class PeerError(EvaluationError):
    """A peer's worker could not be started, failed, or said what it may not."""


class PeerProcess:
    """A worker, running from entering this to leaving it."""

    def __init__(
        self, command: Sequence[str], embedder: Embedder | None, *, within_s: float = ANSWER_WITHIN_S
    ) -> None:
        """Starts nothing yet. `embedder` embeds what the worker asks for; None where it may not ask."""
        self._command = list(command)
        self._embedder = embedder
        self._within_s = within_s
        self._process: subprocess.Popen[str] | None = None
        self._stderr: IO[str] | None = None
        self._embedding_ms = 0.0
        self.versions: dict[str, str] = {}

    def __enter__(self) -> PeerProcess:
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            encoding="ascii",
            cwd=REPOSITORY,
        )
        try:
            self.versions = self._read("versions")["versions"]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._stderr is not None
        self._process.kill()
        self._process.communicate()
        self._stderr.close()

    def index(self, catalog: Catalog, k: int) -> PeerRetriever:
        """A retriever of `k` tools over this catalog, until the next one is indexed.

        Raises:
            PeerError: the peer failed.
        """
        names = readable_names(catalog.values())
        tools = [
            PeerTool(name, tool.source, tool.raw_name, tool.description, tool.input_schema).to_json()
            for name, tool in names.items()
        ]
        ready_s = self._ask({"tools": tools, "k": k}, "ready_s")["ready_s"]
        return PeerRetriever(self, names, k, ready_s)

    def search(self, query: str) -> tuple[list[str], SearchTimes]:
        """The names that the worker finds, best first, and its times, without those of the pipe.

        Raises:
            PeerError: the peer failed.
        """
        self._embedding_ms = 0.0
        answer = self._ask({"query": query}, "names")
        return answer["names"], SearchTimes(answer["ms"], self._embedding_ms, answer["cpu_ms"])

    def _ask(self, message: JsonObject, expected: str) -> JsonObject:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            write_message(self._process.stdin, message)
        except BrokenPipeError as exc:
            raise self._ended() from exc
        return self._read(expected)

    def _read(self, expected: str) -> JsonObject:
        """The next answer; what the worker wants embedded on the way is embedded."""
        assert self._process is not None
        assert self._process.stdin is not None
        while True:
            answer = self._next_message()
            if "embed" in answer:
                write_message(self._process.stdin, self._embedded(answer))
            elif "error" in answer:
                raise PeerError(answer["error"])
            elif expected in answer:
                return answer
            else:
                raise PeerError(f"The worker said {sorted(answer)} where {expected!r} was asked for.")

    def _embedded(self, wanted: JsonObject) -> dict[str, Any]:
        if self._embedder is None:
            raise PeerError("The worker wants texts embedded, which this peer is not given.")
        embed = self._embedder.embed_queries if wanted["as"] == "queries" else self._embedder.embed_documents
        started = time.process_time()
        rows = embed(wanted["embed"])
        self._embedding_ms += (time.process_time() - started) * 1000
        return encode_vectors(rows)

    def _next_message(self) -> JsonObject:
        assert self._process is not None
        assert self._process.stdout is not None
        limit = threading.Timer(self._within_s, self._process.kill)
        limit.start()
        try:
            line = self._process.stdout.readline()
        finally:
            limit.cancel()
        if not line:
            raise self._ended()
        message: JsonObject = json.loads(line)
        return message

    def _ended(self) -> PeerError:
        assert self._process is not None
        assert self._stderr is not None
        code = self._process.wait()
        self._stderr.seek(0)
        said = self._stderr.read().strip().splitlines()[-1:] or ["it said nothing"]
        return PeerError(f"The worker ended with {code}: {said[0]}")


class PeerRetriever:
    """What the peer finds in one catalog.

    Scores count down from the number of hits, as peers say names alone; `times` are in the order of the
    searches.
    """

    def __init__(self, process: PeerProcess, tools: dict[str, Tool], k: int, ready_s: float) -> None:
        self._process = process
        self._tools = tools
        self._k = k
        self.ready_s = ready_s
        self.times: list[SearchTimes] = []

    def search(self, request: SearchRequest) -> SearchResult:
        """The peer's ranking of one query.

        Raises:
            SearchRequestError: several queries, filters.
            PeerError: the peer failed, or named no tool of the catalog.
        """
        query = plain_query(request)
        names, times = self._process.search(query)
        unknown = [name for name in names if name not in self._tools]
        if unknown:
            raise PeerError(f"The worker found {unknown[0]!r}, which is no tool of the catalog.")
        self.times.append(times)
        shown = names[: request.k or self._k]
        return SearchResult(
            tuple(ScoredTool(self._tools[name], float(len(shown) - i)) for i, name in enumerate(shown))
        )


class Timed:
    """A retriever of ours that keeps the times of its searches as `PeerRetriever` does."""

    def __init__(self, inner: Retriever, embedder: DocumentsRemembered) -> None:
        self._inner = inner
        self._embedder = embedder
        self.times: list[SearchTimes] = []

    def search(self, request: SearchRequest) -> SearchResult:
        """What the retriever finds."""
        embedding = self._embedder.queries_cpu_ms
        started, cpu = time.perf_counter(), time.process_time()
        result = self._inner.search(request)
        wall_ms, cpu_ms = (time.perf_counter() - started) * 1000, (time.process_time() - cpu) * 1000
        embedding = self._embedder.queries_cpu_ms - embedding
        self.times.append(SearchTimes(wall_ms, embedding, cpu_ms - embedding))
        return result


def readable_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by a name as a host of several servers shows it to peers.

    ``server__raw_name``, or the raw name of a local tool; runs of other characters than letters, digits,
    dots, dashes and underscores become one underscore. A name that is taken is followed by ``_2``, ``_3``,
    and so on: digests, as public names have them, would be noise in the texts that peers rank by.
    """
    named: dict[str, Tool] = {}
    for tool in tools:
        full = f"{tool.source}__{tool.raw_name}" if tool.source else tool.raw_name
        stem = re.sub(r"[^\w.-]+", "_", full)
        name, number = stem, 1
        while name in named:
            number += 1
            name = f"{stem}_{number}"
        named[name] = tool
    return named
