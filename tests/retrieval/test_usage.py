"""Past requests lift the tools that served them, and do nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clock import Clock
from tests.retrieval.support import OFFICE, search, searcher
from toolsearch import Catalog, CatalogSearcher, LearnedUsage, Tool, ToolSearcher, build_index
from toolsearch.api.usage import Outcome
from toolsearch.embedders.base import Vectors
from toolsearch.exceptions import EmbeddingError, SearchRequestError, UnknownToolError
from toolsearch.retrieval.fusion import NAME_WEIGHT
from toolsearch.retrieval.usage import PER_HOUR, PER_SESSION, UsageEvent
from toolsearch.retrieval.usage_score import UsageWeights
from toolsearch.testing import FlakyEmbedder, HashingEmbedder

DAY_S = 24 * 3600.0
JARGON = "run the tps ritual for acme"
"""A request that no tool's own words answer."""
NONSENSE = "zxqv blorp wimmel"

WORDS = (
    "send",
    "find",
    "list",
    "mail",
    "event",
    "weather",
    "files",
    "web",
    "city",
    "ritual",
    "zebra",
    "acme",
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
lessons = st.lists(
    st.tuples(
        texts,
        st.sampled_from([tool.name for tool in OFFICE]),
        st.sampled_from(["called", "succeeded", "failed", "relevant", "irrelevant"]),
        st.sampled_from(["", "s1", "s2", "s3"]),
        st.sampled_from(["", "acme"]),
    ),
    max_size=12,
)


def learning(clock: Clock | None = None, tools: Sequence[Tool] = OFFICE, **options: Any) -> ToolSearcher:
    return searcher(tools, usage=LearnedUsage(clock=clock or Clock(), **options))


def teach(over: ToolSearcher, query: str, tool: str, *, times: int = 5, **told: Any) -> None:
    """The outcome of as many sessions, one an hour."""
    assert over.usage is not None
    for i in range(times):
        over.learn(query, tool, **{"session_id": f"s{i}", **told})


def teach_all(over: ToolSearcher, taught: Sequence[Any]) -> None:
    """What `lessons` draws."""
    for text, tool, outcome, session_id, tenant in taught:
        over.learn(text, tool, outcome, session_id=session_id, tenant=tenant)


def bonus(over: ToolSearcher, query: str, tool: str, **request: Any) -> float:
    hits = {hit.name: hit for hit in search(over, query, k=len(OFFICE), **request).hits}
    return hits[tool].channels.get("usage", 0.0)


def support(over: ToolSearcher, query: str, tool: str, tenant: str = "") -> float:
    usage, embedder = over.usage, over.embedder
    assert usage is not None
    assert embedder is not None
    supports = usage.supports(embedder.embed_queries([query]), tenant)
    return {name: value for (name, _), value in supports.items()}.get(tool, 0.0)


def ranked(over: ToolSearcher, query: str, **request: Any) -> list[tuple[str, float, dict[str, float]]]:
    result = search(over, query, k=len(OFFICE), **request)
    return [(hit.name, hit.score, dict(hit.channels)) for hit in result.hits]


def test_a_tool_that_served_like_requests_comes_first() -> None:
    over = learning()
    before = search(over, JARGON, k=3).names
    teach(over, f"{JARGON}!", "files__search", times=10)
    assert before[0] != "files__search"
    assert search(over, JARGON, k=3).names[0] == "files__search"


def test_a_request_that_nothing_seemed_to_fit_has_hits_once_it_was_served() -> None:
    over = searcher(usage=LearnedUsage(clock=Clock()), nothing_fits_below=0.9)
    assert search(over, NONSENSE).hits == ()
    teach(over, NONSENSE, "web__search", times=10)
    result = search(over, NONSENSE)
    assert (result.nothing_fits, "web__search" in result.names) == (False, True)


@settings(max_examples=60, deadline=None)
@given(lessons, texts)
def test_without_a_like_request_everything_is_as_before_to_the_bit(taught: list[Any], query: str) -> None:
    plain, over = searcher(), learning()
    teach_all(over, taught)
    embedder = HashingEmbedder()
    rows = embedder.embed_queries([query, *(text for text, *_ in taught)])
    floor = UsageWeights().floor
    if (rows[1:] @ rows[0] < floor - 1e-6).all():
        assert ranked(over, query) == ranked(plain, query)
        first, second = search(over, query), search(plain, query)
        assert (first.hits, first.near, first.confidence) == (second.hits, second.near, second.confidence)


@settings(max_examples=60, deadline=None)
@given(lessons, texts, st.integers(1, 3))
def test_nothing_is_lowered_and_no_tool_falls_by_more_places_than_are_lifted(
    taught: list[Any], query: str, most: int
) -> None:
    plain, over = searcher(), learning(weights=UsageWeights(most_lifted=most))
    teach_all(over, taught)
    before, after = ranked(plain, query), ranked(over, query)
    scores = {name: score for name, score, _ in before}
    content = [score - NAME_WEIGHT * channels["name"] for _, score, channels in before]
    goal = UsageWeights().reach * max(*content, 0.0)
    places = {name: place for place, (name, *_) in enumerate(before)}
    lifted = [name for name, _, channels in after if channels.get("usage")]
    assert len(lifted) <= most
    for place, (name, score, channels) in enumerate(after):
        added = channels.get("usage", 0.0)
        assert added >= 0
        assert added == 0 or score - NAME_WEIGHT * channels["name"] <= goal + 1e-12
        assert score == pytest.approx(scores[name] + added, abs=1e-12)
        assert place - places[name] <= most
    sure, was_sure = search(over, query).confidence, search(plain, query).confidence
    assert sure is not None
    assert was_sure is not None
    assert sure >= was_sure
    assert len(search(over, query).hits) >= len(search(plain, query).hits)


@settings(max_examples=40, deadline=None)
@given(lessons, texts)
def test_tenants_never_mix(taught: list[Any], query: str) -> None:
    everybody, alone = learning(), learning()
    teach_all(everybody, taught)
    teach_all(alone, [lesson for lesson in taught if lesson[-1] == "acme"])
    assert ranked(everybody, query, tenant="acme") == ranked(alone, query, tenant="acme")
    assert ranked(everybody, query, tenant="other") == ranked(searcher(), query)


def test_one_lucky_call_counts_little_and_each_session_more() -> None:
    supports = []
    for sessions in range(1, 6):
        over = learning()
        teach(over, JARGON, "web__search", times=sessions)
        supports.append(support(over, JARGON, "web__search"))
    prior = UsageWeights().prior
    assert supports == pytest.approx([n / (n + prior) for n in range(1, 6)], rel=1e-3)


def test_a_tool_is_lifted_by_its_support_towards_the_best_score() -> None:
    plain = {hit.name: hit for hit in search(searcher(), JARGON, k=7).hits}
    over = learning()
    teach(over, JARGON, "files__search", times=3)
    hit = next(hit for hit in search(over, JARGON, k=7).hits if hit.name == "files__search")
    weights, before = UsageWeights(), plain["files__search"].score
    goal = weights.reach * max(each.score for each in plain.values())
    expected = 3 / (3 + weights.prior) * (goal - before)
    assert hit.channels["usage"] == pytest.approx(expected, rel=1e-3)
    assert hit.score == pytest.approx(before + expected, rel=1e-3)


def test_sessions_that_disagree_support_each_tool_less() -> None:
    over = learning()
    teach(over, JARGON, "web__search", times=2)
    alone = support(over, JARGON, "web__search")
    for i in range(6):
        over.learn(JARGON, "files__search", session_id=f"other{i}")
    assert support(over, JARGON, "web__search") < alone / 2
    one_session = learning()
    for name in ("web__search", "files__search"):
        teach(one_session, JARGON, name, times=2)
    assert support(one_session, JARGON, "web__search") == pytest.approx(alone)


def test_a_session_counts_once_however_often_it_calls() -> None:
    once, often = learning(), learning()
    teach(once, JARGON, "web__search", times=1)
    teach(often, JARGON, "web__search", times=50, session_id="s0")
    assert support(often, JARGON, "web__search") == support(once, JARGON, "web__search")


def test_requests_without_a_session_count_once_an_hour() -> None:
    clock = Clock()
    over = learning(clock)
    teach(over, JARGON, "web__search", times=20, session_id="")
    one = support(over, JARGON, "web__search")
    clock.now_s = 3600.0
    over.learn(JARGON, "web__search")
    prior = UsageWeights().prior
    assert one == pytest.approx(1 / (1 + prior), rel=1e-3)
    assert support(over, JARGON, "web__search") == pytest.approx(2 / (2 + prior), rel=1e-2)


def test_a_request_counts_half_after_the_half_life() -> None:
    clock = Clock()
    over = learning(clock, weights=UsageWeights(half_life_s=DAY_S))
    teach(over, JARGON, "web__search", times=4)
    clock.now_s = DAY_S
    assert support(over, JARGON, "web__search") == pytest.approx(2 / (2 + UsageWeights().prior), rel=1e-3)


@pytest.mark.parametrize(
    ("outcomes", "sessions"),
    [
        (["called"], 0.5),
        (["called", "succeeded"], 1.0),
        (["succeeded", "called"], 1.0),
        (["failed"], 0.0),
        (["called", "failed"], 0.0),
        (["failed", "succeeded"], 1.0),
        (["succeeded", "irrelevant"], 0.0),
        (["irrelevant", "relevant"], 1.0),
    ],
)
def test_what_a_request_comes_to_is_one_outcome(outcomes: list[Outcome], sessions: float) -> None:
    over = learning()
    for outcome in outcomes:
        over.learn(JARGON, "web__search", outcome, session_id="s")
    expected = sessions / (sessions + UsageWeights().prior)
    assert support(over, JARGON, "web__search") == pytest.approx(expected, rel=1e-3)


def test_failures_and_judgements_take_back_what_successes_gave_and_no_more() -> None:
    over = learning()
    teach(over, JARGON, "web__search", times=3)
    high = support(over, JARGON, "web__search")
    over.learn(JARGON, "web__search", "failed", session_id="f")
    lower = support(over, JARGON, "web__search")
    for i in range(5):
        over.learn(JARGON, "web__search", "irrelevant", session_id=f"i{i}")
    assert high > lower > 0
    assert ranked(over, JARGON) == ranked(searcher(), JARGON)


def test_a_flood_keeps_few_requests() -> None:
    over = learning()
    for i in range(500):
        over.learn(f"{JARGON} {i}", "web__search", session_id=f"s{i}")
    assert over.usage is not None
    assert len(over.usage) == PER_HOUR
    one = learning()
    for i in range(50):
        one.learn(f"{JARGON} {i}", "web__search", session_id="s")
    assert one.usage is not None
    assert len(one.usage) == PER_SESSION


def test_the_oldest_request_of_a_session_and_of_an_hour_gives_way_once() -> None:
    over = learning()
    assert over.usage is not None
    for i in range(PER_SESSION):
        over.learn(f"{JARGON} {i}", "web__search", session_id="s")
    for i in range(PER_SESSION, PER_HOUR):
        over.learn(f"{JARGON} {i}", "web__search", session_id=f"s{i}")
    over.learn(f"{JARGON} again", "web__search", session_id="s")
    assert len(over.usage) == PER_HOUR


def test_memory_is_bounded_and_the_largest_tenant_gives_way() -> None:
    usage = LearnedUsage(max_requests=20, max_per_tenant=15, clock=Clock())
    rows = np.eye(40, dtype=np.float32)

    def learned(tenant: str, n: int) -> None:
        for i in range(n):
            usage.learn(UsageEvent(f"t{i}", b"", "succeeded", rows[i], session_id="s", tenant=tenant))

    learned("small", 3)
    learned("large", 40)
    assert len(usage) == 18
    learned("other", 10)
    assert len(usage) == 20
    assert [len(usage.supports(rows[i : i + 1], "small")) for i in range(4)] == [1, 1, 1, 0]
    assert [len(usage.supports(rows[i : i + 1], "large")) for i in (25, 39)] == [0, 1]


def test_what_was_learned_of_a_tool_holds_for_the_definition_that_it_had() -> None:
    over = learning()
    teach(over, JARGON, "web__search")
    whole, embedder = over.index, over.embedder
    assert embedder is not None
    changed = [tool for tool in OFFICE if tool.name != "web__search"]
    over.index = build_index(Catalog(changed), embedder)
    assert "web__search" not in search(over, JARGON, k=7).names
    other = Tool(raw_name="search", source="web", description="Search the web, and buy what it finds.")
    over.index = build_index(Catalog([*changed, other]), embedder)
    assert bonus(over, JARGON, "web__search") == 0
    over.index = whole
    assert bonus(over, JARGON, "web__search") > 0


def test_what_a_filter_hides_is_not_lifted_into_sight() -> None:
    over = learning()
    teach(over, JARGON, "web__search")
    assert "web__search" not in search(over, JARGON, k=7, deny=("web__*",)).names
    assert ranked(over, JARGON, deny=("web__*",)) == ranked(searcher(), JARGON, deny=("web__*",))


def test_a_supported_tool_is_found_though_no_channel_puts_it_forward() -> None:
    many = [Tool(raw_name=f"ritual_{i}", description=f"Part {i} of it.") for i in range(300)]
    best = Tool(raw_name="best", description=JARGON)
    over = learning(tools=[*many, best, Tool(raw_name="zebra", description="Striped.")])
    assert "zebra" not in search(over, JARGON, k=50).names
    teach(over, JARGON, "zebra", times=9)
    assert search(over, JARGON, k=50).names[:2] == ("best", "zebra")


class Unreading(HashingEmbedder):
    """Reads nothing, and takes all texts for the same."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return super().embed_queries(["same"] * len(texts))

    def reads(self, text: str) -> float:
        del text
        return 0.2


def test_requests_that_the_encoder_cannot_read_teach_nothing() -> None:
    embedder = Unreading()
    over = ToolSearcher(build_index(Catalog(OFFICE), embedder), embedder, usage=LearnedUsage())
    assert over.learn("какая погода", "geo__get_weather") == ()
    assert over.usage is not None
    assert len(over.usage) == 0


def test_a_failing_encoder_leaves_words_and_names() -> None:
    embedder = FlakyEmbedder(HashingEmbedder())
    over = searcher(embedder=embedder, usage=LearnedUsage())
    over.learn(JARGON, "web__search")
    embedder.failures = [EmbeddingError("down")] * 3
    result = search(over, "send an email", k=3)
    assert result.degraded
    assert "usage" not in result.hits[0].channels


def test_forgetting() -> None:
    over = learning()
    for tool, tenant in (("web__search", "a"), ("files__search", "a"), ("web__search", "b")):
        over.learn(JARGON, tool, tenant=tenant)
    usage = over.usage
    assert usage is not None
    usage.forget("a", tool="web__search")
    assert [bonus(over, JARGON, "web__search", tenant=tenant) > 0 for tenant in "ab"] == [False, True]
    usage.forget("a")
    assert len(usage) == 1
    usage.forget("nobody")
    usage.forget()
    assert len(usage) == 0


def test_only_what_can_be_told_is_learned() -> None:
    over = learning()
    with pytest.raises(UnknownToolError, match="web__search"):
        over.learn(JARGON, "web__serch")
    with pytest.raises(SearchRequestError):
        over.learn("...", "web__search")
    with pytest.raises(ValueError, match="outcome"):
        over.learn(JARGON, "web__search", "liked")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="from 1 to 16"):
        over.learn([], "web__search")
    with pytest.raises(ValueError, match="LearnedUsage"):
        searcher().learn(JARGON, "web__search")
    with pytest.raises(ValueError, match="dense"):
        ToolSearcher(over.index, None, channels=("lexical",), usage=LearnedUsage())
    with pytest.raises(ValueError, match="hashing-v1@256"):
        searcher(embedder=HashingEmbedder(128), usage=over.usage)
    with pytest.raises(ValueError, match="floor"):
        UsageWeights(floor=1.0)


def test_a_catalog_that_changes_keeps_what_was_learned() -> None:
    embedder = HashingEmbedder()
    older = CatalogSearcher(OFFICE, embedder, usage=LearnedUsage()).build()
    teach(older, JARGON, "web__search")
    newer = CatalogSearcher([*OFFICE, Tool(raw_name="ping", description="Ping a host.")], older=older)
    assert bonus(newer.build(), JARGON, "web__search") > 0
    newer.learn(JARGON, "web__search", session_id="one more")
    assert older.usage is newer.build().usage
