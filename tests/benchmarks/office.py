"""A tiny data set: tools that do one thing to one thing each, and requests for some of them."""

from collections.abc import Sequence

from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, Dataset, make_dataset
from toolsearch.tools import Tool


def office(*verbs: str, duplicates: Sequence[tuple[str, str]] = ()) -> Dataset:
    """A tool for each verb and thing; `drop` and `find` must be among the verbs, as they are asked for."""
    return make_dataset(
        "office",
        Catalog(
            Tool(raw_name=f"{verb}_{thing}", source="desk", description=f"Will {verb} one {thing} of yours.")
            for verb in verbs
            for thing in ("invoice", "meeting", "parcel", "route")
        ),
        [
            BenchQuery("q1", "drop my parcel, all of it", ("desk.drop_parcel",)),
            BenchQuery("q2", "find the route to the meeting", ("desk.find_route", "desk.find_meeting")),
            BenchQuery("q3", "sing", ()),
        ],
        duplicates,
    )
