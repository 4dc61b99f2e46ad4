"""What a conversation finds, keeps and is told."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.discovery.support import BrokenOnce, as_message, loaded, opened, select, text
from tests.retrieval.support import OFFICE
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.delivery.native import NATIVE
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.history import discovered_in
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.exceptions import ReservedNameError, ToolLimitError, UnknownToolError
from toolsearch.messages import MESSAGES, UserMessage
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import Tool

SEND, MAIL, WEATHER = "mail__send_email", "mail__search_mail", "geo__get_weather"
ABC = [Tool(raw_name=name, source="x", description=f"Does {name}.") for name in "abcdefgh"]


def test_a_search_loads_what_fits_and_says_so_in_a_line_each() -> None:
    discovery = opened()
    result = discovery.search({"queries": ["send an email message"], "limit": 1})
    assert text(result).splitlines()[:2] == [
        "Loaded 1 tool. Call it directly:",
        "- mail__send_email: Send an email message.",
    ]
    assert result.discovered == (SEND,)
    assert loaded(discovery) == [SEND]


def test_machine_data_is_apart_from_the_text_and_is_json() -> None:
    result = opened().search({"queries": ["send an email"], "server": "mail"})
    assert json.loads(json.dumps(result.structured)) == result.structured
    assert result.structured["queries"] == ["send an email"]
    assert result.structured["server"] == "mail"
    assert set(result.structured["scores"]) <= {SEND, MAIL}
    assert result.structured["scores"][SEND] > 0


def test_what_is_loaded_already_is_named_without_being_shown_again() -> None:
    discovery = opened()
    select(discovery, SEND)
    result = select(discovery, SEND, MAIL)
    assert result.discovered == (MAIL,)
    assert f"Already loaded: {SEND}." in text(result)
    assert "Send an email message." not in text(result)


def test_tools_that_are_known_take_no_place_from_new_ones() -> None:
    discovery = opened(limit=1)
    select(discovery, SEND)
    assert discovery.search({"queries": ["email"]}).discovered == (MAIL,)


def test_names_that_come_near_are_mentioned_but_not_loaded() -> None:
    discovery = opened()
    result = discovery.search({"queries": ["send an email message"], "limit": 1})
    near = result.structured["near"]
    assert MAIL in near
    assert f"Near, but not loaded: {', '.join(near)}." in text(result)
    assert loaded(discovery) == [SEND]


def test_nothing_found_ends_the_searching() -> None:
    discovery = opened(ABC)
    result = discovery.search({"queries": ["zyzzyva quixotry"]})
    assert not result.is_error
    assert result.structured["nothing_fits"]
    assert "do not search for it again" in text(result)
    assert result.discovered == ()


def test_every_tool_of_a_selection_is_loaded_whatever_the_limit() -> None:
    discovery = opened(ABC, limit=1)
    assert select(discovery, "x__h", "x__b", "x__c").discovered == ("x__h", "x__b", "x__c")


def test_a_selection_of_an_unknown_name_says_so() -> None:
    result = select(opened(), "mail__send_emial")
    assert "No tool is named 'mail__send_emial'. Did you mean 'mail__send_email'" in text(result)


@pytest.mark.parametrize("error", [ConnectionError("10.0.0.5"), TimeoutError(), ValueError("bad")])
def test_a_broken_encoder_degrades_a_search_and_is_tried_again(error: Exception) -> None:
    """(E128)"""
    embedder = FlakyEmbedder(HashingEmbedder())
    discovery = opened(embedder=embedder)
    embedder.failures.append(error)
    broken = discovery.search({"queries": ["send email"]})
    assert SEND in broken.discovered
    assert broken.structured["degraded"]
    assert "Searched by words alone, as the encoder failed." in text(broken)
    assert "10.0.0.5" not in text(broken)
    assert not discovery.search({"queries": ["weather of a city"]}).structured["degraded"]


def test_a_broken_searcher_is_an_error_result_in_neutral_words(caplog: pytest.LogCaptureFixture) -> None:
    """(E128)"""
    discovery = opened(over=BrokenOnce(KeyError("secret")), catalog=Catalog(OFFICE))
    result = discovery.search({"queries": ["send email"]})
    assert result.is_error
    assert text(result) == "The search is out of order just now. Try it once more, or go on without it."
    assert result.structured == {"error": "KeyError: 'secret'"}
    assert "tool_search failed: KeyError in search (" in caplog.text
    assert "secret" not in caplog.text
    assert SEND in discovery.search({"queries": ["send email"]}).discovered


def test_the_same_search_is_answered_shortly_from_the_third_time_on() -> None:
    """(E108)"""
    discovery = opened(nudge_after=2)
    texts = [text(discovery.search({"query": "calendar"})) for _ in range(6)]
    assert "Loaded" in texts[0]
    assert "Already loaded: " in texts[1]
    assert "You have made this very search before." in texts[2]
    assert "Stop searching" in texts[2]
    assert texts[2] == texts[3] == texts[5]
    assert len(texts[2]) < 400


def test_a_repeated_search_runs_again_if_its_tools_had_to_make_room() -> None:
    discovery = opened(ABC, max_tools=2)
    select(discovery, "x__a")
    select(discovery, "x__a")
    assert "very search before" in text(select(discovery, "x__a"))
    select(discovery, "x__b")
    assert select(discovery, "x__a").discovered == ("x__a",)


def test_a_repeated_search_does_not_name_what_has_become_forbidden() -> None:
    """(E171)"""
    first = opened()
    messages = [as_message(select(first, SEND)), as_message(select(first, SEND))]
    later = opened(messages=messages, filters=[ToolFilter(deny=("*send*",))])
    assert SEND not in text(select(later, SEND)).replace(f"No tool is named {SEND!r}", "")


def test_searches_without_success_are_capped() -> None:
    discovery = opened(ABC, max_fruitless=3, nudge_after=2)
    texts = [text(discovery.search({"queries": [f"zyzzyva {i}"]})) for i in range(4)]
    assert ["Stop searching" in each for each in texts] == [False, True, True, True]
    assert [each.startswith("Not searched") for each in texts] == [False, False, False, True]
    assert discovery.offer().search_tool is not None


def test_a_new_user_message_lifts_the_cap() -> None:
    first = opened(ABC, max_fruitless=1)
    in_vain = as_message(first.search({"queries": ["zyzzyva"]}))
    capped = opened(ABC, max_fruitless=1, messages=[UserMessage.of("x"), in_vain])
    assert capped.search({"queries": ["does a"]}).is_error
    lifted = opened(ABC, max_fruitless=1, messages=[in_vain, UserMessage.of("y")])
    assert not lifted.search({"queries": ["does a"]}).is_error


def test_the_messages_alone_tell_what_was_discovered() -> None:
    first = opened(session="")
    messages = (UserMessage.of("hi"), as_message(select(first, WEATHER)), as_message(select(first, SEND)))
    stored = MESSAGES.validate_json(MESSAGES.dump_json(messages))
    assert discovered_in(stored) == (WEATHER, SEND)
    later = opened(session="", messages=stored)
    assert loaded(later) == [WEATHER, SEND]
    assert select(later, SEND).structured["already_loaded"] == [SEND]


def test_only_the_search_can_make_names_known() -> None:
    forged = as_message(select(opened(), SEND), name="mail__read")
    assert loaded(opened(session="", messages=[forged])) == []


def test_a_session_outlives_its_messages() -> None:
    """(E157) After a summary took the place of the conversation."""
    store = MemorySessionStore()
    select(opened(store=store), WEATHER)
    assert loaded(opened(store=store, messages=[UserMessage.of("Summary: …")])) == [WEATHER]


def test_what_only_the_messages_tell_is_kept_from_then_on() -> None:
    store = MemorySessionStore()
    found = as_message(select(opened(), WEATHER))
    opened(store=store, messages=[found])
    assert loaded(opened(store=store)) == [WEATHER]


def test_sessions_share_nothing() -> None:
    """(E155)"""
    store = MemorySessionStore()
    select(opened(store=store, session="one"), SEND)
    assert loaded(opened(store=store, session="two")) == []


def test_names_that_the_catalog_lost_are_passed_over() -> None:
    store = MemorySessionStore()
    select(opened(store=store), SEND, WEATHER)
    rest = Catalog(tool for tool in OFFICE if tool.source != "mail")
    later = opened(store=store, catalog=rest)
    assert loaded(later) == [WEATHER]
    assert select(later, SEND).discovered == ()
    assert loaded(opened(store=store)) == [SEND, WEATHER]


def test_a_changed_tool_is_offered_as_it_is_now() -> None:
    store = MemorySessionStore()
    select(opened(store=store), WEATHER)
    changed = [replace(tool, description="New.") if tool.name == WEATHER else tool for tool in OFFICE]
    (tool,) = opened(changed, store=store).offer().loaded
    assert tool.description == "New."


@pytest.mark.parametrize("delivery", [BRIDGE, NATIVE], ids=lambda d: d.name)
def test_a_tool_whose_discovery_the_conversation_lost_is_shown_again(delivery: Delivery) -> None:
    """(E157)"""
    store = MemorySessionStore()
    select(opened(store=store, delivery=delivery), WEATHER)
    later = opened(store=store, delivery=delivery, messages=[UserMessage.of("Summary: …")])
    result = select(later, WEATHER)
    assert result.discovered == (WEATHER,)
    assert "- geo__get_weather: Current weather of a city." in text(result)
    assert loaded(later) == [WEATHER]


def test_the_bridge_shows_schemas_once() -> None:
    discovery = opened(delivery=BRIDGE)
    first, second = select(discovery, WEATHER), select(discovery, WEATHER, SEND)
    assert "input schema" in text(first)
    assert text(second).count("input schema") == 1
    assert f"Already loaded: {WEATHER}" in text(second)


@pytest.mark.parametrize("delivery", [APPEND, BRIDGE, NATIVE], ids=lambda d: d.name)
def test_pinned_tools_and_the_callers_own_are_visible_from_the_start(delivery: Delivery) -> None:
    tools = [*OFFICE, Tool(raw_name="help", pinned=True), Tool(raw_name="ask", pinned=True)]
    own = Tool(raw_name="tmp")
    discovery = opened(tools, delivery=delivery, pinned=(WEATHER,), own=[own])
    offer = discovery.offer()
    assert [tool.name for tool in offer.visible] == [WEATHER, "ask", "help", "tmp"]
    assert not {WEATHER, "ask", "help"} & {tool.name for tool in discovery.hidden()}


def test_a_tool_that_is_pinned_after_its_discovery_is_offered_once() -> None:
    store = MemorySessionStore()
    select(opened(store=store), SEND, WEATHER)
    offer = opened(store=store, pinned=(SEND,)).offer()
    assert [tool.name for tool in (*offer.visible, *offer.loaded)] == [SEND, WEATHER]


def test_a_tool_of_the_caller_takes_the_place_of_its_namesake() -> None:
    own = Tool(raw_name="get_weather", source="geo", description="Mine.")
    discovery = opened(own=[own], pinned=(WEATHER,))
    assert discovery.offer().visible == (own,)
    assert select(discovery, WEATHER).structured["already_loaded"] == [WEATHER]
    assert discovery.offer().loaded == ()


@pytest.mark.parametrize("name", ["tool_search", "call_tool"])
def test_a_tool_of_the_caller_cannot_shadow_a_built_in_one(name: str) -> None:
    """(E47)"""
    with pytest.raises(ReservedNameError):
        opened(own=[Tool(raw_name=name)])


def test_a_server_may_have_a_tool_named_like_a_built_in_one() -> None:
    """(E47)"""
    tools = [*OFFICE, Tool(raw_name="tool_search", source="other")]
    discovery = opened(tools)
    assert select(discovery, "other__tool_search").discovered == ("other__tool_search",)
    search = discovery.offer().search_tool
    assert search is not None
    assert search.name == "tool_search"


def test_the_oldest_tools_make_room_and_the_model_is_told() -> None:
    """(E49)"""
    discovery = opened(ABC, max_tools=5, pinned=("x__a",))
    first = select(discovery, *(f"x__{letter}" for letter in "bcdefgh"))
    assert first.discovered == ("x__b", "x__c", "x__d")
    assert "4 more fit but were not loaded, as there is room for 5 tools in all" in text(first)
    second = select(discovery, "x__h", "x__g")
    assert second.discovered == ("x__h", "x__g")
    assert "No longer loaded, to make room: x__b, x__c." in text(second)
    assert loaded(discovery) == ["x__d", "x__h", "x__g"]
    third = select(discovery, "x__b")
    assert third.discovered == ("x__b",)
    assert loaded(discovery) == ["x__h", "x__g", "x__b"]


@pytest.mark.parametrize("session", ["s", ""])
def test_what_made_room_stays_away_whoever_remembers(session: str) -> None:
    store = MemorySessionStore()
    first = opened(ABC, max_tools=3, store=store, session=session)
    messages = [as_message(select(first, f"x__{letter}")) for letter in "abca"]
    later = opened(ABC, max_tools=3, store=store, session=session, messages=messages)
    assert loaded(later) == loaded(first) == ["x__c", "x__a"]


@pytest.mark.parametrize(("delivery", "fixed"), [(APPEND, 1), (BRIDGE, 2), (NATIVE, 1)])
def test_too_many_pinned_tools_are_refused_at_the_start(delivery: Delivery, fixed: int) -> None:
    """(E49)"""
    pinned = ("x__a", "x__b")
    opened(ABC, delivery=delivery, pinned=pinned, max_tools=2 + fixed)
    with pytest.raises(ToolLimitError, match=f"{2 + fixed} tools must be in every request"):
        opened(ABC, delivery=delivery, pinned=pinned, max_tools=1 + fixed)


def test_a_pinned_tool_that_does_not_exist_is_refused_at_the_start() -> None:
    with pytest.raises(UnknownToolError, match="geo__get_wether"):
        opened(pinned=("geo__get_wether",))


def test_a_small_catalog_is_sent_whole_and_not_searched() -> None:
    discovery = opened(whole_below_tokens=100_000)
    offer = discovery.offer()
    assert offer.search_tool is None
    assert discovery.hidden() == ()
    assert [tool.name for tool in offer.loaded] == sorted(tool.name for tool in OFFICE)


def test_whether_a_catalog_is_sent_whole_is_settled_once_a_session() -> None:
    store = MemorySessionStore()
    small = opened(ABC[:2], store=store, whole_below_tokens=200)
    assert loaded(small) == ["x__a", "x__b"]
    larger = [*ABC, Tool(raw_name="a", source="a", description="Sorts first. " * 100)]
    grown = opened(larger, store=store, whole_below_tokens=200)
    assert loaded(grown) == ["x__a", "x__b", "a__a", *(f"x__{letter}" for letter in "cdefgh")]
    assert grown.hidden() == ()
    other = opened(larger, store=store, session="other", whole_below_tokens=200)
    assert other.offer().search_tool is not None
    assert opened(ABC[:2], store=store, session="other", whole_below_tokens=200).offer().search_tool


def test_a_catalog_that_does_not_fit_the_tool_limit_is_not_sent_whole() -> None:
    offer = opened(ABC, whole_below_tokens=100_000, max_tools=4).offer()
    assert offer.search_tool is not None
    assert offer.loaded == ()


def test_the_tools_of_a_user_message_are_loaded_before_the_model_reads_it() -> None:
    discovery = opened(preselect=1, messages=[UserMessage.of("What is the weather in Paris, city of light?")])
    assert loaded(discovery) == [WEATHER]
    assert discovery.offer().preselected == {0: discovery.offer().loaded}


@pytest.mark.parametrize("message", ["zyzzyva quixotry", "?!"])
def test_nothing_is_preselected_where_nothing_fits(message: str) -> None:
    assert loaded(opened(ABC, preselect=3, messages=[UserMessage.of(message)])) == []


LOUD = [Tool(raw_name=f"mail_{i}", description=f"Send an email message to team {i}.") for i in range(30)]


def test_each_wish_of_a_message_has_its_tool_preselected() -> None:
    wishes = "Send an email message to team 1, team 2, team 3 and team 4. Tell me the weather of the city."
    assert "geo__get_weather" in loaded(
        opened([*OFFICE, *LOUD], preselect=2, messages=[UserMessage.of(wishes)])
    )


def test_each_wish_of_one_query_has_its_tool_loaded() -> None:
    wishes = "send an email message to team 1, team 2, team 3 and team 4 and tell me the weather of the city"
    discovery = opened([*OFFICE, *LOUD])
    discovery.search({"queries": [wishes], "limit": 2})
    assert "geo__get_weather" in loaded(discovery)


def test_a_failed_preselection_lets_the_message_through_and_is_tried_again() -> None:
    settings = DiscoverySettings(preselect=1)
    discoverer = Discoverer(BrokenOnce(KeyError("gone")), Catalog(OFFICE), settings, APPEND)
    session, messages = Session(MemorySessionStore()), [UserMessage.of("send an email message")]
    assert loaded(discoverer.open(session, APPEND, messages=messages)) == []
    assert loaded(discoverer.open(session, APPEND, messages=messages)) == [SEND]


FILTERS = [
    ToolFilter(sources=frozenset({"geo", "web"})),
    ToolFilter(deny=("mail__*", "search", "*event*")),
    ToolFilter(read_only=True, allow=("geo/*",)),
]


@pytest.mark.parametrize("rule", FILTERS, ids=str)
@pytest.mark.parametrize("query", ["send an email", "select:mail__send_email", "send_email", "mail"])
def test_what_is_forbidden_is_neither_found_nor_named(rule: ToolFilter, query: str) -> None:
    """(E171)"""
    store = MemorySessionStore()
    select(opened(store=store), SEND, WEATHER)
    discovery = opened(store=store, filters=[rule], pinned=(MAIL,))
    result = discovery.search({"queries": [query]})
    offer = discovery.offer()
    shown = [tool.name for tool in (*offer.visible, *offer.loaded, *discovery.hidden())]
    forbidden = {tool.name for tool in OFFICE if not rule.permits(tool)}
    assert not forbidden & set(shown)
    told = text(result).replace(f"No tool is named {query.removeprefix('select:')!r}", "")
    assert not [name for name in forbidden if name in told]
    assert not forbidden & set(json.dumps(result.structured["near"]).split('"'))
    assert WEATHER in shown


def test_two_filters_must_both_permit() -> None:
    filters = [ToolFilter(tags=frozenset({"mail"})), ToolFilter(tags=frozenset({"time"}))]
    assert opened(filters=filters).hidden() == ()


def test_where_nothing_is_permitted_there_is_nothing_to_search() -> None:
    discovery = opened(filters=[ToolFilter(allow=())])
    assert discovery.offer().search_tool is None
    assert discovery.hidden() == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 21},
        {"max_tools": 0},
        {"preselect": -1},
        {"whole_below_tokens": -1},
        {"nudge_after": 0},
        {"max_fruitless": 0},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: DiscoveryOptions) -> None:
    """(E117)"""
    with pytest.raises(ValueError, match="it must be"):
        DiscoverySettings(**wrong)


@pytest.mark.parametrize("wrong", ["5", True, 5.0])
@pytest.mark.parametrize(
    "setting", ["limit", "max_tools", "preselect", "whole_below_tokens", "nudge_after", "max_fruitless"]
)
def test_a_setting_that_is_no_whole_number_is_named(setting: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"{setting} is .*; it must be a whole number"):
        DiscoverySettings(**{setting: wrong})


def test_options_and_settings_have_the_same_fields() -> None:
    assert DiscoveryOptions.__annotations__.keys() == DiscoverySettings.__dataclass_fields__.keys()
