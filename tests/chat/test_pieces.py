"""Text and tool calls are put together whatever way a server cuts them."""

import json

import pytest

from toolsearch.chat.pieces import CallPieces, TextPieces, joined
from toolsearch.tools import JsonObject


def delta(index: int | None = 0, *, id: str | None = None, **function: object) -> JsonObject:  # noqa: A002
    at = {} if index is None else {"index": index}
    return {**at, **({} if id is None else {"id": id}), "function": function}


def assemble(*deltas: JsonObject) -> list[tuple[str, str, object]]:
    pieces = CallPieces()
    for each in deltas:
        pieces.add(each)
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in pieces.calls()
    ]


def test_two_entries_of_one_index_in_one_delta_are_one_call() -> None:
    """(E103)"""
    assert assemble(delta(id="a", name="f"), delta(arguments='{"x":'), delta(arguments="1}")) == [
        ("a", "f", {"x": 1})
    ]


def test_alternating_pieces_without_ids_go_to_their_index() -> None:
    """Names and arguments may be null; calls come by index (E105)."""
    deltas = (
        delta(1, id="b", name="second", arguments=""),
        delta(0, id="a", name="first", arguments=""),
        delta(0, name=None, arguments='{"x'),
        delta(1, arguments='{"y'),
        delta(0, arguments='":1}'),
        delta(1, name="second", arguments=None),
        delta(1, arguments='":2}'),
    )
    assert assemble(*deltas) == [("a", "first", {"x": 1}), ("b", "second", {"y": 2})]


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_share_an_index_are_told_apart_by_their_ids(index: int | None) -> None:
    deltas = (
        delta(index, id="a", name="f", arguments='{"x":'),
        delta(index, id="a", arguments="1}"),
        delta(index, id="b", name="f", arguments='{"x":2}'),
    )
    assert assemble(*deltas) == [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]


@pytest.mark.parametrize("repeated", ["a", None])
def test_calls_that_share_an_id_are_told_apart_by_their_index(repeated: str | None) -> None:
    """(E101)"""
    deltas = (
        delta(0, id="a", name="f", arguments='{"x":1}'),
        delta(1, id="a", name="g", arguments='{"y":'),
        delta(1, id=repeated, arguments="2}"),
    )
    assert assemble(*deltas) == [("a", "f", {"x": 1}), ("a", "g", {"y": 2})]


@pytest.mark.parametrize("index", [0, None])
def test_calls_without_ids_that_come_whole_are_told_apart(index: int | None) -> None:
    deltas = (
        delta(index, name="f", arguments='{"x":1}'),
        delta(index, name="f", arguments='{"x":2}'),
        delta(index, id="", name="g", arguments="{}"),
    )
    assert assemble(*deltas) == [("", "f", {"x": 1}), ("", "f", {"x": 2}), ("", "g", {})]


def test_an_id_or_name_that_every_piece_repeats_starts_no_new_call() -> None:
    assert assemble(
        delta(id="a", name="f", arguments='{"x"'),
        delta(id="a", name="f", arguments=":"),
        delta(id="a", name="f", arguments="1}"),
    ) == [("a", "f", {"x": 1})]
    assert assemble(delta(name="f", arguments='{"x"'), delta(name="f", arguments=":1}")) == [
        ("", "f", {"x": 1})
    ]


def test_an_id_that_changes_with_each_piece_starts_no_new_call() -> None:
    assert assemble(
        delta(id="r1", name="f", arguments='{"x"'),
        delta(id="r2", arguments=":1}"),
        delta(id="r3", arguments=""),
    ) == [("r1", "f", {"x": 1})]


def test_an_id_that_comes_late_belongs_to_the_call_of_its_index() -> None:
    assert assemble(delta(name="f"), delta(id="a", arguments="{}")) == [("a", "f", {})]


def test_arguments_that_come_as_an_object_are_written_as_json() -> None:
    assert assemble(delta(id="a", name="f", arguments={"x": "é"})) == [("a", "f", {"x": "é"})]


def test_a_surrogate_pair_that_was_cut_in_two_is_one_character() -> None:
    """Cut in the escape of the outer JSON (E92)."""
    high, low = json.loads(r'"\ud83c"'), json.loads(r'"\udf78"')
    assert assemble(delta(id="a", name="f", arguments='{"note":"' + high), delta(arguments=low + '"}')) == [
        ("a", "f", {"note": "\U0001f378"})
    ]


def test_an_escaped_pair_that_was_cut_in_two_is_one_character() -> None:
    r"""Cut between ``\ud83c`` and ``\udf78`` of the arguments' own JSON, and within one of them (E92)."""
    for cut in range(1, 12):
        escaped = r'{"note":"\ud83c\udf78"}'
        pieces = escaped[: 9 + cut], escaped[9 + cut :]
        assert assemble(delta(id="a", name="f", arguments=pieces[0]), delta(arguments=pieces[1])) == [
            ("a", "f", {"note": "\U0001f378"})
        ]


def test_text_is_shown_in_whole_characters() -> None:
    text = TextPieces()
    assert [text.add(piece) for piece in ("a\ud83c", "\udf78b", "\ud83c")] == ["a", "\U0001f378b", ""]
    assert text.rest() == "\ufffd"
    assert text.rest() == ""


def test_a_half_character_without_its_other_half_is_replaced() -> None:
    assert joined(["a\udf78", "b\ud83c"]) == "a\ufffdb\ufffd"
