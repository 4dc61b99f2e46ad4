"""The input schema of a function says what its annotations say."""

import collections.abc
import dataclasses
import enum
import json
import math
import typing
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import partial, wraps
from types import ModuleType
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest
import typing_extensions
from pydantic import AliasChoices, BaseModel, Field

from tests.functions import postponed
from tests.functions.support import call, text
from toolsearch import ToolContext, tool
from toolsearch.document import render_document
from toolsearch.exceptions import DefinitionError, ParameterError, ToolArgumentsError, UnresolvedTypeError
from toolsearch.schema import check_schema


class Unit(enum.Enum):
    C = "c"
    F = "f"


class Node(BaseModel):
    v: int
    kids: list["Node"] = []


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = tool(function).input_schema["properties"]
    return found


def test_annotations_that_are_text_give_the_same_schema() -> None:
    """(E01)"""

    @tool
    def book(mode: Literal["bus", "rail"], seats: Optional[int] = None) -> str:  # noqa: UP045
        return f"{mode}:{seats}"

    assert postponed.book.input_schema == book.input_schema
    assert book.input_schema["required"] == ["mode"]
    assert book.input_schema["properties"]["mode"]["enum"] == ["bus", "rail"]
    assert text(postponed.book, {"mode": "rail", "seats": 2}) == "rail:2"


LATE = """
from pydantic import BaseModel
from toolsearch import tool

class Batch(BaseModel):
    rows: list["Row"] = []

@tool
def load(batch: Batch) -> str:
    return batch.rows[0].key
"""


def module(code: str) -> ModuleType:
    import sys

    made = ModuleType("late_types")
    sys.modules["late_types"] = made
    exec(code, vars(made))
    return made


def test_a_class_may_be_defined_after_the_tool() -> None:
    """(E04)"""
    late = module(LATE + "class Row(BaseModel):\n    key: str\n")
    rows = late.load.input_schema["properties"]["batch"]["properties"]["rows"]
    assert rows["items"]["properties"] == {"key": {"type": "string"}}
    assert text(late.load, {"batch": {"rows": [{"key": "a"}]}}) == "a"
    assert text(postponed.load, {"batch": {"rows": [{"key": "b"}]}}) == "b"


def test_a_class_that_never_comes_is_named_when_the_schema_is_needed() -> None:
    """(E04)"""
    late = module(LATE)
    with pytest.raises(UnresolvedTypeError) as caught:
        _ = late.load.definition
    assert (caught.value.tool, caught.value.parameter, caught.value.type_name) == ("load", "batch", "Row")
    assert "'load'" in str(caught.value)
    assert "'Row'" in str(caught.value)


def test_a_local_class_may_come_after_the_tool_too() -> None:
    @tool
    def count(stop: "Stop") -> int:
        return stop.at

    class Stop(BaseModel):
        at: int

    assert text(count, {"stop": {"at": 3}}) == "3"


def test_variadic_parameters_are_refused_by_name() -> None:
    """(E05)"""

    def tagit(x: int, *labels: str, **extra: str) -> str:
        return f"{x}{labels}{extra}"

    with pytest.raises(ParameterError, match=r"'tagit': parameter 'labels': '\*labels' takes any number"):
        tool(tagit)


def test_a_default_makes_an_argument_optional_and_is_shown() -> None:
    """(E07)"""

    def find(q: str, limit: int = 10, lang: Optional[str] = None) -> str:  # noqa: UP045
        return f"{q}{limit}{lang}"

    schema = tool(find).input_schema
    assert schema["required"] == ["q"]
    assert schema["properties"]["limit"] == {"type": "integer", "default": 10}
    assert schema["properties"]["lang"]["default"] is None
    assert text(tool(find), {"q": "a"}) == "a10None"


def test_unions_enums_and_literals_are_kept() -> None:
    """(E08)"""
    got: list[Any] = []

    @tool
    def conv(
        v: Union[int, str],  # noqa: UP007
        to: Unit,
        mode: Literal["fast", "exact"],
        pad: Optional[float] = None,  # noqa: UP045
    ) -> None:
        got.extend((v, to, mode, pad))

    schema = conv.input_schema
    assert schema["properties"] == {
        "v": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "to": {"enum": ["c", "f"], "type": "string"},
        "mode": {"enum": ["fast", "exact"], "type": "string"},
        "pad": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
    }
    assert schema["required"] == ["v", "to", "mode"]
    call(conv, {"v": "1", "to": "c", "mode": "fast"})
    assert got == ["1", Unit.C, "fast", None]


def test_a_model_that_holds_itself_gives_a_finite_schema() -> None:
    """(E12)"""

    @tool
    def tree(root: Node) -> int:
        return root.v + sum(kid.v for kid in root.kids)

    root = tree.input_schema["properties"]["root"]
    assert root["type"] == "object"
    assert root["properties"]["v"] == {"type": "integer"}
    assert root["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}
    assert len(json.dumps(tree.input_schema)) < 1000
    assert render_document(tree).startswith("tree:")
    assert text(tree, {"root": {"v": 1, "kids": [{"v": 2}, {"v": 3}]}}) == "6"


def test_a_leading_underscore_is_passed_through() -> None:
    """(E16)"""

    @tool
    def rd(_path: str, n: int) -> str:
        return _path * n

    assert list(rd.input_schema["properties"]) == ["_path", "n"]
    assert text(rd, {"_path": "ab", "n": 2}) == "abab"


def test_names_that_pydantic_uses_itself_are_fine() -> None:
    @tool
    def odd(model_config: str, schema: int, copy: bool, json: str, self_: str) -> str:
        return f"{model_config}{schema}{copy}{json}{self_}"

    arguments = {"model_config": "a", "schema": 1, "copy": True, "json": "b", "self_": "c"}
    assert list(odd.input_schema["properties"]) == list(arguments)
    assert text(odd, arguments) == "a1Truebc"


class Plain(TypedDict):
    x: int
    note: NotRequired[str]


class Chain(TypedDict):
    """A chain."""

    size: int
    rest: NotRequired["Chain"]


class Wide(typing_extensions.TypedDict, total=False):
    plain: Plain


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def test_typed_dicts_dataclasses_and_containers_are_described_and_made() -> None:
    got: list[Any] = []

    @tool
    def take(
        a: Plain,
        b: list[Plain | None],
        c: Point,
        d: tuple[int, str],
        e: Annotated[set[int], Field(max_length=3)],
    ) -> None:
        got.extend((a, b, c, d, e))

    found = take.input_schema["properties"]
    assert found["d"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert found["e"] == {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": True}
    plain = take.input_schema["$defs"]["Plain"]
    assert plain["required"] == ["x"]
    assert plain["properties"] == {"x": {"type": "integer"}, "note": {"type": "string"}}
    assert found["c"]["properties"]["y"] == {"type": "integer", "default": 0}
    call(
        take,
        {
            "a": {"x": 1},
            "b": [{"x": 2, "note": "n"}, None],
            "c": {"x": 3},
            "d": [1, "z"],
            "e": [1, 2],
        },
    )
    assert got == [{"x": 1}, [{"x": 2, "note": "n"}, None], Point(3), (1, "z"), {1, 2}]


def test_a_typed_dict_keeps_what_it_inherits_and_requires() -> None:
    class More(Plain, total=False):
        extra: str

    found = properties(lambda_with(More))["value"]
    assert found["required"] == ["x"]
    assert set(found["properties"]) == {"x", "note", "extra"}


def test_a_typed_dict_may_hold_itself() -> None:
    made = tool(lambda_with(list[Chain]))
    assert made.input_schema["$defs"]["Chain"]["required"] == ["size"]
    assert text(made, {"value": [{"size": 1, "rest": {"size": 2}}]}) == "Done."
    with pytest.raises(ToolArgumentsError, match=r"'value\[0\].rest.size' is missing"):
        call(made, {"value": [{"size": 1, "rest": {}}]})


def lambda_with(annotation: Any) -> Callable[..., Any]:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    return function


@pytest.mark.parametrize(
    "annotation",
    [
        Plain,
        Wide,
        Node,
        Point,
        Unit,
        list[Node],
        dict[str, list[Node]],
        Node | Point | None,
        Annotated[Node | Point, Field(description="either")],
        Any,
        bytes,
        typing.NewType("UserId", int),
        Literal[1, "a", None, True],
    ],
    ids=str,
)
def test_every_schema_stands_on_its_own(annotation: Any) -> None:
    """It passes the checks for schemas from elsewhere unchanged."""
    schema = tool(lambda_with(annotation)).input_schema
    checked = check_schema("t", schema)
    assert checked.mended == ()
    assert checked.schema == schema


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]


def test_a_tagged_union_has_no_reference_that_leads_nowhere() -> None:
    def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
        return type(pet).__name__

    pet = properties(adopt)["pet"]
    assert [each["properties"]["kind"]["const"] for each in pet["oneOf"]] == ["cat", "dog"]
    assert "$ref" not in json.dumps(pet)
    assert text(tool(adopt), {"pet": {"kind": "cat", "lives": 9}}) == "Cat"


class Opaque:
    pass


@pytest.mark.parametrize(
    "annotation",
    [Opaque, list[Opaque], Callable[[int], int], int | Callable[[], int], "list[", "a.b.c"],
    ids=str,
)
def test_what_no_schema_describes_is_refused_when_the_tool_is_made(annotation: Any) -> None:
    def save(path: str, thing: Any) -> None: ...

    save.__annotations__["thing"] = annotation
    if annotation == "a.b.c":
        made = tool(save)
        with pytest.raises(UnresolvedTypeError, match="'a'"):
            _ = made.input_schema
        return
    with pytest.raises(ParameterError, match="'save': parameter 'thing'") as caught:
        tool(save)
    assert caught.value.parameter == "thing"


class Pairs(enum.Enum):
    LOW = (1, 2)


class Days(enum.Enum):
    FIRST = date(2020, 1, 1)


class Nothing(enum.Enum):
    pass


class Classes(BaseModel):
    kind: type[int] = int


class Lazy(BaseModel):
    numbers: typing.Iterable[int] = ()


class TwoOfAName(BaseModel):
    a: int = Field(1, alias="b")
    b: int = 2


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (type[int], "holds a class"),
        (Classes, "holds a class"),
        (Literal["a", b"b"], "its value 'b'"),
        (Literal[Unit.C], "its value 'c'"),
        (Pairs, r"its value \[1, 2\]"),
        (list[Days], "its value '2020-01-01'"),
        (Nothing, "no value at all"),
        (Lazy, "holds an iterable"),
        (typing.Generator[int, None, None], "holds an iterable"),
        (TwoOfAName, "two arguments have one name"),
        (typing.ClassVar[int], "for attributes"),
        (typing.Final[int], "for attributes"),
        (typing.ClassVar, "for attributes"),
        (dataclasses.InitVar[int], "for attributes"),
    ],
    ids=str,
)
def test_what_no_argument_could_fill_is_refused_when_the_tool_is_made(annotation: Any, said: str) -> None:
    """(E16: a parameter is never left out, nor described by what then fits nothing.)"""

    def probe(x: int, thing: Any = 1) -> None: ...

    probe.__annotations__["thing"] = annotation
    with pytest.raises(ParameterError, match=f"'probe': parameter 'thing': .*{said}"):
        tool(probe)


class Mixed(enum.Enum):
    HALF = 1.5
    TWO = 2
    WORD = "x"
    NONE = None
    YES = True


@pytest.mark.parametrize(
    "annotation", [Mixed, Unit, enum.IntFlag("Rights", "READ WRITE"), Literal["a", None, 3]]
)
def test_each_value_that_a_schema_lists_is_taken(annotation: Any) -> None:
    def probe(thing: Any) -> str:
        return repr(thing)

    probe.__annotations__["thing"] = annotation
    made = tool(probe)
    listed = made.input_schema["properties"]["thing"]["enum"]
    taken = [text(made, {"thing": value}) for value in listed]
    assert taken == [repr(member) for member in typing.get_args(annotation) or annotation]


def test_two_parameters_of_one_name_are_refused() -> None:
    def by_alias(a: Annotated[int, Field(alias="b")], b: int) -> None: ...
    def by_choice(
        a: Annotated[int, Field(validation_alias=AliasChoices("b", "c"))] = 1, b: int = 2
    ) -> None: ...

    for function in (by_alias, by_choice):
        with pytest.raises(ParameterError, match="two arguments have one name"):
            tool(function)


def test_a_default_without_json_form_only_makes_an_argument_optional() -> None:
    marker = object()

    def probe(a: Any = marker, b: float = math.inf, c: Unit = Unit.F) -> bool:
        return a is marker and b == math.inf and c is Unit.F

    schema = tool(probe).input_schema
    assert schema["properties"] == {
        "a": {},
        "b": {"type": "number"},
        "c": {"enum": ["c", "f"], "type": "string", "default": "f"},
    }
    assert "required" not in schema
    assert text(tool(probe)) == "true"


NOTHING: list[str] = Field(default_factory=list)


def test_a_field_describes_limits_renames_and_gives_defaults() -> None:
    def trip(
        start: Annotated[str, Field(alias="from", description="Where it begins.")],
        seats: int = Field(2, ge=1, description="How many."),
        extras: Annotated[list[str], Field(default_factory=list)] = NOTHING,
    ) -> str:
        return f"{start}{seats}{extras}"

    schema = tool(trip).input_schema
    assert schema["properties"]["from"] == {"type": "string", "description": "Where it begins."}
    assert schema["properties"]["seats"] == {
        "type": "integer",
        "minimum": 1,
        "default": 2,
        "description": "How many.",
    }
    assert schema["required"] == ["from"]
    assert text(tool(trip), {"from": "x"}) == "x2[]"
    assert text(tool(trip), {"from": "x", "seats": 5, "extras": ["y"]}) == "x5['y']"


def test_a_default_in_the_annotation_is_one() -> None:
    def trip(
        start: Annotated[str, Field(default="here")],
        stops: Annotated[list[str], Field(default_factory=list, min_length=1, alias="via")],
        seats: Annotated[int, Field(default=1)] = 2,
    ) -> str:
        return f"{start}{stops}{seats}"

    schema = tool(trip).input_schema
    assert "required" not in schema
    assert (schema["properties"]["start"]["default"], schema["properties"]["seats"]["default"]) == ("here", 2)
    assert schema["properties"]["via"] == {"type": "array", "items": {"type": "string"}, "minItems": 1}
    assert text(tool(trip)) == "here[]2"


def test_a_name_for_validation_is_the_name_of_the_argument() -> None:
    def trip(
        start: Annotated[str, Field(validation_alias="from")],
        end: Annotated[str, Field(validation_alias=AliasChoices("to", "until"))],
    ) -> str:
        return start + end

    assert tool(trip).input_schema["required"] == ["from", "to"]
    assert text(tool(trip), {"from": "a", "to": "b"}) == "ab"


Numbers = typing.Iterable[int]


@pytest.mark.parametrize(
    "annotation",
    [
        *(Numbers, "Numbers", typing_extensions.Annotated[Numbers, "noted"], Numbers | None),
        *(dict[str, Numbers], list[collections.abc.Iterable[int]], typing.Iterable[Numbers]),
    ],
    ids=str,
)
def test_an_iterable_is_checked_before_the_tool_runs(annotation: Any) -> None:
    ran = []

    def total(numbers: Any) -> None:
        ran.append(numbers)

    total.__annotations__["numbers"] = annotation
    made = tool(total)
    for bad in (["x"], [["x"]], {"k": ["x"]}):
        with pytest.raises(ToolArgumentsError):
            call(made, {"numbers": bad})
    for good in ([1], [[1]], {"k": [1]}):
        with suppress(ToolArgumentsError):
            call(made, {"numbers": good})
    assert len(ran) == 1
    assert ran[0] in ([1], [[1]], {"k": [1]})


def test_what_the_docstring_says_gives_way_to_the_annotation() -> None:
    def f(a: Annotated[int, Field(description="from the annotation")], b: int) -> None:
        """Do it.

        Args:
            a: from the docstring
            b: from the docstring
        """

    found = properties(f)
    assert found["a"]["description"] == "from the annotation"
    assert found["b"]["description"] == "from the docstring"


def test_titles_that_repeat_names_are_left_out_and_others_kept() -> None:
    class Box(BaseModel):
        width: int = Field(title="Width in mm")

    def pack(box: Box) -> None: ...

    assert properties(pack)["box"] == {
        "type": "object",
        "properties": {"width": {"type": "integer", "title": "Width in mm"}},
        "required": ["width"],
    }


def test_a_function_without_parameters_takes_no_arguments() -> None:
    def now() -> str:
        return "now"

    assert tool(now).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_positional_only_parameters_are_filled() -> None:
    def area(width: int, height: int = 2, /, *, unit: str = "m") -> str:
        return f"{width * height}{unit}"

    assert text(tool(area), {"width": 3}) == "6m"
    assert text(tool(area), {"width": 3, "height": 3, "unit": "cm"}) == "9cm"


def weather(key: str, city: str) -> str:
    "Weather in a city."
    return f"{key}:{city}"


def tides(key: str, port: str) -> str:
    "Tide times of a port."
    return f"{key}:{port}"


def test_a_partial_is_called_like_its_function_and_hides_what_is_bound() -> None:
    """(E13)"""
    tools = [tool(partial(weather, "k")), tool(partial(tides, key="k"))]
    assert [(each.name, each.description) for each in tools] == [
        ("weather", "Weather in a city."),
        ("tides", "Tide times of a port."),
    ]
    assert [list(each.input_schema["properties"]) for each in tools] == [["city"], ["port"]]
    assert text(tools[0], {"city": "Oslo"}) == "k:Oslo"
    assert text(tools[1], {"port": "Bergen"}) == "k:Bergen"


def test_the_context_is_in_no_schema() -> None:
    def f(
        a: int,
        context: ToolContext,
        maybe: ToolContext | None = None,
        noted: Annotated[Optional[ToolContext], "x"] = None,  # noqa: UP045
    ) -> str:
        return f"{a}{context.tenant}{maybe is context}{noted is context}"

    made = tool(f)
    assert list(made.input_schema["properties"]) == ["a"]
    assert text(made, {"a": 1}, ToolContext(tenant="t")) == "1tTrueTrue"
    assert text(postponed.whose, {}, ToolContext(tenant="acme")) == "acme"


@pytest.mark.parametrize("annotation", [list[ToolContext], ToolContext | int, dict[str, ToolContext | None]])
def test_a_context_inside_another_type_is_refused(annotation: Any) -> None:
    with pytest.raises(ParameterError, match="parameter 'value': only a parameter of exactly"):
        tool(lambda_with(annotation))


def test_a_subclass_of_the_context_is_refused() -> None:
    class Mine(ToolContext):
        pass

    with pytest.raises(ParameterError, match="exactly the type ToolContext"):
        tool(lambda_with(Mine))


def test_types_of_a_class_body_are_found() -> None:
    assert text(postponed.Account().open, {"kind": {"code": "x"}}) == "x"


def test_a_wrapper_shows_the_signature_of_what_it_wraps() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @logged
    def twice(x: int) -> int:
        return 2 * x

    assert twice.input_schema["properties"] == {"x": {"type": "integer"}}
    assert text(twice, {"x": 2}) == "4"


def test_a_builtin_without_signature_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'iter': its signature cannot be read"):
        tool(iter)
