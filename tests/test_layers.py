"""A module imports only from layers above its own: the table of docs/architecture.md."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "toolsearch"
LAYERS = {
    name: layer
    for layer, names in enumerate(
        (
            "exceptions naming http",
            "checks tools",
            "schema messages",
            "functions",
            "given",
            "catalog document tokens tool_names",
            "formats",
            "sources embedders",
            "index",
            "retrieval",
            "chat",
            "session",
            "delivery",
            "discovery",
            "advisors",
            "telemetry",
            "router adapters evaluation lint testing demo",
            "tuning",
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
