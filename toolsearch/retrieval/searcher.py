"""`ToolSearcher`: filters, channels, fusion and cut over one index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from toolsearch.api.usage import Outcome
from toolsearch.checks import check_choice
from toolsearch.deadlines import check_deadline
from toolsearch.embedders.base import Embedder, Vectors, as_unit_rows, cosine_scale
from toolsearch.exceptions import DimensionMismatchError, TookTooLongError, ToolSearchError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.answer import Answer, assemble
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.calibration import Calibration, calibrate
from toolsearch.retrieval.learned import Learned, learned_of
from toolsearch.retrieval.prepared import Mask, Prepared, Query, prepare
from toolsearch.retrieval.ranking import Ranking, Wording, rank, wordings
from toolsearch.retrieval.reranking import reranked
from toolsearch.retrieval.selecting import selected
from toolsearch.retrieval.teaching import can_compare, learn
from toolsearch.retrieval.timings import StageTimer
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent

R = TypeVar("R")
Channel: TypeAlias = Literal["name", "dense", "lexical"]
OnEmbedderFailure: TypeAlias = Literal["degrade", "raise"]
CHANNELS: tuple[Channel, ...] = ("name", "dense", "lexical")

NOTHING_FITS_BELOW = 0.88
"""Confidence under which nothing fits: on the dev sets, one in 25 requests that a tool serves is below.

See docs/benchmarks.md.
"""

ENCODER_FAILED = "Searched by words alone, as the encoder failed"
"""Begins the notice of a degraded search; what went wrong follows."""

RERANKER_FAILED = "Not ranked again, as the reranker failed"
"""Begins the notice of a search without it; what went wrong follows."""


def neutral_notice(notice: str) -> str:
    """The notice without what the failure of a model says of the machine."""
    failed = next((each for each in (ENCODER_FAILED, RERANKER_FAILED) if notice.startswith(each)), None)
    return notice if failed is None else f"{failed}."


_CALIBRATIONS_KEPT = 64
_UNREAD = (
    "The encoder does not read the language of this query well, so the hits rest on shared words and names. "
    "Asking in English finds more."
)


class ToolSearcher:
    """Finds the tools of an index that serve a request. Safe to search from several threads.

    A newer index is put in place by assigning it to `index`: searches that begin later use it, those that
    run finish with the one they began with.
    """

    def __init__(
        self,
        index: ToolIndex,
        embedder: Embedder | None,
        *,
        channels: Sequence[Channel] = CHANNELS,
        nothing_fits_below: float = NOTHING_FITS_BELOW,
        on_embedder_failure: OnEmbedderFailure = "degrade",
        reranker: Reranker | None = None,
        usage: LearnedUsage | None = None,
    ) -> None:
        """A searcher over `index`.

        Args:
            embedder: The one that the index was built with; None only without the dense channel.
            channels: Which channels take part.
            nothing_fits_below: Confidence (0 to 1) under which nothing fits; 0 switches that off.
            on_embedder_failure: Where the encoder fails, let the other channels answer alone, with
                `SearchResult.degraded` set, or raise its error. A reranker that fails is likewise left out,
                or its error raised.
            reranker: Puts the first 20 tools of each query into a better order, for some time: see
                docs/rerank.md.
            usage: Past requests that lift the tools that served them, see `learn`; None for none.

        Raises:
            IndexMismatchError: the index was built by another embedder.
            ValueError: an argument is out of range, there is no embedder for the dense channel or for
                `usage`, or `usage` was learned with another embedder.
        """
        if not 0 <= nothing_fits_below <= 1:
            raise ValueError(f"nothing_fits_below is {nothing_fits_below}; it must be from 0 to 1.")
        if not channels or set(channels) - set(CHANNELS):
            raise ValueError(f"channels is {channels!r}; name at least one of {', '.join(CHANNELS)}.")
        check_choice("on_embedder_failure", on_embedder_failure, OnEmbedderFailure)
        if "dense" in channels and embedder is None:
            raise ValueError("The dense channel needs the embedder that the index was built with.")
        self.embedder = embedder if "dense" in channels else None
        self.channels = tuple(channels)
        self.nothing_fits_below = nothing_fits_below
        self.on_embedder_failure = on_embedder_failure
        self.reranker = reranker
        self.usage = usage
        if usage is not None:
            if self.embedder is None:
                raise ValueError("Past requests are compared as vectors, so usage needs the dense channel.")
            usage.bind(self.embedder.id)
        self.index = index

    @property
    def index(self) -> ToolIndex:
        """The index that the next search uses."""
        return self._state.index

    @index.setter
    def index(self, index: ToolIndex) -> None:
        if self.embedder is not None:
            index.check_embedder(self.embedder)
        self._state = _State(index)

    def calibration(self) -> Calibration:
        """How the whole index answers requests that nothing serves; measured now where it is not stored."""
        return self._calibration(self._state)

    def learn(
        self,
        queries: str | Sequence[str],
        tool: str,
        outcome: Outcome = "succeeded",
        *,
        session_id: str = "",
        tenant: str = "",
    ) -> tuple[UsageEvent, ...]:
        """Learn what became of a tool for a request; see `toolsearch.retrieval.teaching.learn`."""
        return learn(self, queries, tool, outcome, session_id=session_id, tenant=tenant)

    def search(self, request: SearchRequest | str) -> SearchResult:
        """The tools that serve `request`; a text stands for a request with this one query.

        Raises:
            SearchRequestError: no query has a word to search for.
            EmbeddingError: the encoder failed and `on_embedder_failure` is ``raise``.
        """
        (answer,) = self.search_many([request])
        if isinstance(answer, ToolSearchError):
            raise answer
        return answer

    def search_many(
        self, requests: Sequence[SearchRequest | str], *, index: ToolIndex | None = None
    ) -> list[SearchResult | ToolSearchError]:
        """What `search` gives for each of `requests`, in their order, or the error that it raises.

        Texts are embedded and compared with the tools together, in a third of the time. Of stages that
        requests share, `SearchResult.timings_ms` counts an equal part for each.

        Args:
            index: The one that the requests were made for, where it may have been replaced since.

        Raises:
            TookTooLongError: nobody waits for the answers any more.
        """
        timer, state = StageTimer(), self._state
        if index is not None and index is not state.index:
            state = _State(index)
        with timer.stage("filter"):
            prepared = [_or_error(partial(_prepared, state.index, request)) for request in requests]
        several = [each for each in prepared if isinstance(each, Prepared)]
        with timer.stage("embed"):
            embedded = self._embed_each(several)
        with timer.stage("dense"):
            worded = self._worded_each(state.index, several, embedded)
        spent = {stage: ms / max(len(several), 1) for stage, ms in timer.finish().items()}
        answers = (
            _or_error(partial(self._found, state, each, vectors, texts, StageTimer(spent)))
            for each, vectors, texts in zip(several, embedded, worded, strict=True)
        )
        return [next(answers) if isinstance(each, Prepared) else each for each in prepared]

    def _found(
        self,
        state: _State,
        prepared: Prepared,
        embedded: _Embedded,
        worded: Mapping[str, Wording],
        timer: StageTimer,
    ) -> SearchResult:
        if embedded.error is not None:
            raise embedded.error
        request, allowed = prepared.request, prepared.allowed
        vectors, failure = embedded.vectors, embedded.failure
        notices = list(prepared.notices)
        if self.usage is not None:
            whole = (query.text for query in prepared.queries if query.text in vectors)
            self.usage.remember(request.tenant, {text: vectors[text] for text in whole})
        rankings = []
        for query in prepared.queries:
            check_deadline()
            if query.names is not None:
                ranking, missing = selected(state.index, prepared.part, query.names, allowed)
                notices += missing
            else:
                ranking = rank(
                    state.index,
                    worded[query.text],
                    allowed,
                    part=prepared.part,
                    steps=[worded[step] for step in query.steps],
                    depth=prepared.depth,
                    lexical="lexical" in self.channels,
                    names="name" in self.channels,
                    learned=self._learned(state.index, query, vectors, allowed, request.tenant),
                    timer=timer,
                )
                ranking = self._reranked(state.index, query.text, ranking, notices, timer)
            rankings.append(ranking)
        if any(self._is_unread(ranking) for ranking in rankings):
            notices.append(_UNREAD)
        calibration = None
        if not failure:
            check_deadline()
            with timer.stage("confidence"):
                calibration, failure = self._calibrated(state, prepared)
        if failure:
            notices.append(failure)
        return assemble(
            state.index,
            request,
            [
                Answer(query.position, ranking, _confidence(ranking, calibration), query.steps)
                for query, ranking in zip(prepared.queries, rankings, strict=True)
            ],
            allowed=allowed,
            excluded=prepared.excluded,
            nothing_fits_below=self.nothing_fits_below,
            notices=notices,
            degraded=bool(failure),
            timer=timer,
        )

    def _worded_each(
        self, index: ToolIndex, several: Sequence[Prepared], embedded: Sequence[_Embedded]
    ) -> list[Mapping[str, Wording]]:
        """The texts of each request as they are searched by: together those under the same filter."""
        groups: dict[tuple[bytes, int, int], list[int]] = {}
        for i, each in enumerate(several):
            groups.setdefault((each.allowed_key, each.depth, id(embedded[i])), []).append(i)
        worded: list[Mapping[str, Wording]] = [{}] * len(several)
        for (_, depth, _), members in groups.items():
            check_deadline()
            texts = [text for i in members for text in several[i].texts]
            allowed, vectors = several[members[0]].allowed, embedded[members[0]].vectors
            found = wordings(index, texts, vectors, self.embedder, allowed, depth=depth)
            for i in members:
                worded[i] = found
        return worded

    def _reranked(
        self, index: ToolIndex, text: str, ranking: Ranking, notices: list[str], timer: StageTimer
    ) -> Ranking:
        """The ranking as the reranker has it; as it is, with a notice, where there is none that works."""
        if self.reranker is None:
            return ranking
        with timer.stage("rerank"):
            try:
                return reranked(index, text, ranking, self.reranker)
            except Exception as exc:
                # A reranker may be anybody's.
                if self.on_embedder_failure == "raise":
                    raise
                notices.append(f"{RERANKER_FAILED}: {type(exc).__name__}: {exc}")
                return ranking

    def _learned(
        self,
        index: ToolIndex,
        query: Query,
        vectors: Mapping[str, Vectors],
        allowed: Mask | None,
        tenant: str,
    ) -> Learned | None:
        if self.usage is None or query.text not in vectors or not can_compare(self.embedder, query.text):
            return None
        return learned_of(self.usage, index, vectors[query.text][None, :], tenant=tenant, allowed=allowed)

    def _is_unread(self, ranking: Ranking) -> bool:
        # What is half read by an embedder of two encoders is read by its second one.
        reads = ranking.channels.reads
        return not ranking.is_read and (reads < 0.5 or cosine_scale(self.embedder) == 1)

    def _embed_each(self, several: Sequence[Prepared]) -> list[_Embedded]:
        """The vectors of each request: of all together, or each for itself where that fails."""
        together = self._embed(list(dict.fromkeys(text for each in several for text in each.texts)))
        if together.is_whole or len(several) == 1:
            return [together] * len(several)
        return [self._embed(each.texts) for each in several]

    def _embed(self, texts: Sequence[str]) -> _Embedded:
        if self.embedder is None or not texts:
            return _Embedded({})
        n, dim, embedder_id = len(texts), self.embedder.dim, self.embedder.id
        try:
            rows = as_unit_rows(self.embedder.embed_queries(texts), n=n, dim=dim, embedder_id=embedder_id)
        except Exception as exc:  # noqa: BLE001 (an embedder may be anybody's)
            try:
                return _Embedded({}, self._tolerated(exc))
            except ToolSearchError as error:
                return _Embedded({}, error=error)
        return _Embedded(dict(zip(texts, rows, strict=True)))

    def _calibrated(self, state: _State, prepared: Prepared) -> tuple[Calibration | None, str]:
        """The calibration over the rows that count, and why there is none where the encoder failed."""
        try:
            return self._calibration(state, prepared), ""
        except Exception as exc:  # noqa: BLE001 (an embedder may be anybody's)
            return None, self._tolerated(exc)

    def _tolerated(self, exc: Exception) -> str:
        """A notice of what the encoder raised, whatever that is: names and words can still answer.

        Raises it again where the searcher is told to, and where vectors of another length show that the
        encoder is not the one that the index was built with.
        """
        if self.on_embedder_failure == "raise" or isinstance(exc, DimensionMismatchError):
            raise exc
        return f"{ENCODER_FAILED}: {type(exc).__name__}: {exc}"

    def _calibration(self, state: _State, prepared: Prepared | None = None) -> Calibration:
        """The calibration over the rows that count: the stored one, or one that is measured once."""
        allowed = None if prepared is None else prepared.allowed
        key = b"" if prepared is None else prepared.allowed_key
        calibration = state.calibrations.get(key)
        if calibration is not None:
            return calibration
        if allowed is None and set(self.channels) >= {"dense", "lexical"}:
            calibration = Calibration.from_json(state.index.calibration)
        if calibration is None:
            part = None if prepared is None else prepared.part
            lexical = "lexical" in self.channels
            calibration = calibrate(state.index, self.embedder, allowed=allowed, part=part, lexical=lexical)
        if len(state.calibrations) >= _CALIBRATIONS_KEPT:
            state.calibrations.clear()
        state.calibrations[key] = calibration
        return calibration


@dataclass(frozen=True)
class _State:
    """An index and what was measured of it: replaced as one."""

    index: ToolIndex
    calibrations: dict[bytes, Calibration] = field(default_factory=dict)


@dataclass(frozen=True)
class _Embedded:
    """The unit row (dim,) of each text.

    Where the encoder failed there is none: `failure` says so in an answer by the other channels, or `error`
    stands for the answer.
    """

    vectors: Mapping[str, Vectors]
    failure: str = ""
    error: ToolSearchError | None = None

    @property
    def is_whole(self) -> bool:
        return not self.failure and self.error is None


def _prepared(index: ToolIndex, request: SearchRequest | str) -> Prepared:
    check_deadline()
    return prepare(index, SearchRequest(queries=(request,)) if isinstance(request, str) else request)


def _or_error(make: Callable[[], R]) -> R | ToolSearchError:
    """What `make` gives, or the error that stands for it among the answers to several requests."""
    try:
        return make()
    except TookTooLongError:
        raise
    except ToolSearchError as exc:
        return exc


def _confidence(ranking: Ranking, calibration: Calibration | None) -> float | None:
    if ranking.complete or ranking.named.any():
        return 1.0 if len(ranking.rows) else 0.0
    if calibration is None or not ranking.is_read:
        return None
    # As many sessions that agree make a search as sure as a score that few probes reach.
    return max(calibration.confidence(ranking.best_content), ranking.support)
