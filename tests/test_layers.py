"""A module imports only from layers above its own: the table of docs/architecture.md."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "toolsearch"
PAGE = PACKAGE.parent / "docs" / "architecture.md"
LAYERS = {
    name: layer
    for layer, names in enumerate(
        (
            "exceptions naming",
            "checks globs deadlines",
            "http postgres tools",
            "schema messages api",
            "functions client",
            "given",
            "catalog document tokens tool_names",
            "formats",
            "sources embedders",
            "index rerankers",
            "retrieval",
            "chat",
            "session",
            "delivery",
            "discovery",
            "advisors",
            "telemetry",
            "router adapters evaluation lint testing demo",
            "tuning trust serving server",
            "gateway",
            "cli",
        )
    )
    for name in names.split()
}
ROOT_MODULES = {"__init__", "__main__"}
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    found |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return {part_of(module) for module in found if module.startswith("toolsearch.")}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_from_layers_above(module: Path) -> None:
    own = module.parts[0].removesuffix(".py")
    if own in ROOT_MODULES:
        return
    wrong = {name for name in imports(PACKAGE / module) if name != own and LAYERS[name] >= LAYERS[own]}
    assert not wrong


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] != "testing"], ids=str)
def test_nothing_in_the_package_needs_the_test_doubles(module: Path) -> None:
    assert "testing" not in imports(PACKAGE / module)


def test_the_page_shows_every_part_of_the_package_at_its_layer() -> None:
    rows = re.findall(r"^\| (\d*) *\| `(\w+)(?:\.py|/)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown: dict[str, int] = {}
    layer = 0
    for number, name in rows:
        layer = int(number or layer)
        shown[name] = layer
    parts = {module.parts[0].removesuffix(".py") for module in MODULES} - ROOT_MODULES
    assert parts == LAYERS.keys()
    assert shown == LAYERS
