"""Events come out whole however their bytes are cut."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.chat.sse import read_events


def read(chunks: Sequence[bytes]) -> list[str]:
    async def arriving() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[str]:
        return [data async for data in read_events(arriving())]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"event: x\nid: 7\nretry: 3\ndata: a\n\n", ["a"]),
        (b": ping\n\ndata: a\n: more\n\n\n\n", ["a"]),
        (b"data: a\ndata: b\ndata:\n\n", ["a\nb\n"]),
        (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: last", ["last"]),
        (b"data\n\nevent: x\n\n", []),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_says(stream: bytes, events: list[str]) -> None:
    assert read([stream]) == events
    assert read([stream[i : i + 1] for i in range(len(stream))]) == events


def test_only_line_ends_of_the_standard_end_a_line() -> None:
    """JSON may hold U+2028, U+0085 and the like as they are."""
    text = '{"x": "a\u2028b\u0085c\x0bd\x1ee"}'
    assert read([f"data: {text}\n\n".encode()]) == [text]


@given(st.data())
def test_where_the_bytes_are_cut_does_not_matter(data: st.DataObject) -> None:
    texts = data.draw(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=4)
    )
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    stream = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    cuts = [0, *sorted(places), len(stream)]
    assert read([stream[a:b] for a, b in itertools.pairwise(cuts)]) == texts
