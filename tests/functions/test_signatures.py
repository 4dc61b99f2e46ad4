"""Annotations may name types as text, or before they exist (PEP 563, 649); the context stays out of them."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, NewType, NotRequired, Optional, TypeVar

import pytest
from pydantic import BaseModel, RootModel, SkipValidation
from typing_extensions import TypeAliasType, TypedDict

from tests.functions.support import text
from toolsearch import ToolContext, tool
from toolsearch.exceptions import ParameterError, UnresolvedTypeError

TENANT = ToolContext(tenant="acme")

Named = TypeAliasType("Named", ToolContext)
Inner = TypeVar("Inner")
Maybe = TypeAliasType("Maybe", Inner | None, type_params=(Inner,))
New = NewType("New", ToolContext)
Bound = TypeVar("Bound", bound=ToolContext)
Either = TypeVar("Either", ToolContext, int)

CONTEXTS = [
    Named,
    "Named | None",
    Maybe[ToolContext],
    Maybe["New"],
    New,
    New | None,
    Annotated[New, "noted"],
    Bound,
    "ToolContext",
    "ToolContext | None",
    Optional["ToolContext"],
    Annotated["ToolContext", "noted"],
    Annotated[Optional["ToolContext"], "noted"],
    "Annotated[Optional['ToolContext'], 'noted']",
]


def function_of(annotation: Any) -> Callable[..., str]:
    def function(x: int, context: Any = None) -> str:
        return f"{x}{context.tenant}"

    function.__annotations__["context"] = annotation
    return function


@pytest.mark.parametrize("annotation", CONTEXTS, ids=str)
def test_a_context_by_any_name_is_given_and_in_no_schema(annotation: Any) -> None:
    made = tool(function_of(annotation))
    assert list(made.input_schema["properties"]) == ["x"]
    assert text(made, {"x": 1}, TENANT) == "1acme"


@dataclass
class Wrapped:
    context: ToolContext


class Held(BaseModel):
    context: Optional["ToolContext"] = None


class Skipped(BaseModel):
    context: SkipValidation[ToolContext]


class Of(BaseModel, Generic[Inner]):
    thing: Inner


class Typed(TypedDict):
    context: NotRequired[ToolContext]


class Pair(NamedTuple):
    context: ToolContext


@pytest.mark.parametrize(
    "annotation",
    [
        *(list["ToolContext"], dict[str, "ToolContext | None"], type[ToolContext], list[New], Either),
        *(Wrapped, Held, list[Held], Skipped, Of[ToolContext], Of[Named], RootModel[ToolContext]),
        *(Typed, Pair, ClassVar[ToolContext], "list[Named]"),
    ],
    ids=str,
)
def test_a_context_deep_inside_a_type_is_refused(annotation: Any) -> None:
    """(The model could else set whose data a tool reads.)"""
    with pytest.raises(ParameterError, match="parameter 'context': "):
        tool(function_of(annotation))


def test_registering_reads_no_type_that_does_not_exist_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python 3.14 has it, where a signature cannot be read before its annotations can."""
    exists: list[str] = []
    read = inspect.signature

    def signature(*args: Any, **kwargs: Any) -> inspect.Signature:
        if not exists:
            raise NameError("name 'Later' is not defined", name="Later")
        return read(*args, **kwargs)

    monkeypatch.setattr(inspect, "signature", signature)

    class Account:
        @tool
        def close(self, x: int) -> str:
            return f"closed {x}"

    @tool
    def double(x: int) -> int:
        return 2 * x

    for made in (double, Account().close):
        with pytest.raises(UnresolvedTypeError) as caught:
            _ = made.input_schema
        assert (caught.value.tool, caught.value.type_name) == (made.name, "Later")
    exists.append("Later")
    assert text(double, {"x": 2}) == "4"
    assert text(Account().close, {"x": 2}) == "closed 2"


DEFERRED = """
from typing import TYPE_CHECKING, Annotated, Optional
from pydantic import BaseModel, Field
from toolsearch import tool

if TYPE_CHECKING:
    from toolsearch import ToolContext

@tool
def load(
    batch: Batch,
    more: list[Row] = [],
    one: Row | None = None,
    noted: Annotated[Row, Field(description="The last.")] = None,
) -> str:
    return batch.rows[0].key + "".join(row.key for row in more) + (one.key if one else "")

@tool
def whose(context: ToolContext, again: Optional[ToolContext] = None) -> str:
    return f"{context.tenant} {again is context}"

class Account:
    @tool
    def open(self, kind: Kind, row: Row) -> str:
        return kind.code + row.key

    class Kind(BaseModel):
        code: str
"""
LATER = """
class Row(BaseModel):
    key: str

class Batch(BaseModel):
    rows: list[Row] = []
"""


@pytest.fixture
def deferred(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("deferred")
    monkeypatch.setitem(sys.modules, "deferred", made)
    exec(compile(DEFERRED, "deferred.py", "exec", dont_inherit=True), vars(made))
    return made


needs_pep_649 = pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")


@needs_pep_649
def test_deferred_annotations_are_read_once_their_types_exist(deferred: ModuleType) -> None:
    """(E04, PEP 649)"""
    for made, parameter, name in (
        (deferred.load, "batch", "Batch"),
        (deferred.Account().open, "row", "Row"),
    ):
        with pytest.raises(UnresolvedTypeError) as caught:
            _ = made.input_schema
        assert (caught.value.tool, caught.value.parameter, caught.value.type_name) == (
            made.name,
            parameter,
            name,
        )
    exec(compile(LATER, "deferred.py", "exec", dont_inherit=True), vars(deferred))
    schema = deferred.load.input_schema
    assert schema["$defs"]["Row"]["properties"] == {"key": {"type": "string"}}
    assert schema["properties"]["noted"]["description"] == "The last."
    rows = {"batch": {"rows": [{"key": "a"}]}, "more": [{"key": "b"}], "one": {"key": "c"}}
    assert text(deferred.load, rows) == "abc"
    assert text(deferred.Account().open, {"kind": {"code": "x"}, "row": {"key": "y"}}) == "xy"


@needs_pep_649
def test_a_context_that_only_type_checkers_import_is_given(deferred: ModuleType) -> None:
    assert deferred.whose.input_schema["properties"] == {}
    assert text(deferred.whose, {}, TENANT) == "acme True"
