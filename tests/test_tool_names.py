"""Tools by what a program calls them."""

from collections.abc import Iterator, Mapping

from toolsearch.tool_names import ToolNames
from toolsearch.tools import Tool

TOOLS = [Tool(raw_name=name, source="net") for name in ("ping", "pong", "trace")]


class Counted(Mapping[str, Tool]):
    """A catalog on disk: each tool that is looked at is read."""

    def __init__(self) -> None:
        self.read = 0
        self._tools = {tool.name: tool for tool in TOOLS}

    def __getitem__(self, name: str) -> Tool:
        self.read += 1
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def test_many_names_and_globs_read_a_catalog_once() -> None:
    tools = Counted()
    names = ToolNames(["trace", "net__ping", "p?ng", "net/*", *(f"none_{number}" for number in range(50))])
    assert names.names_in(tools) == ("net__trace", "net__ping", "net__pong")
    assert tools.read == len(TOOLS)


def test_public_names_read_nothing() -> None:
    tools = Counted()
    assert ToolNames(["net__trace", "net__ping"]).names_in(tools) == ("net__trace", "net__ping")
    assert tools.read == 0
