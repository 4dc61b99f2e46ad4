"""The package as others import it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolsearch

HEAVY = (
    "faiss",
    "onnxruntime",
    "torch",
    "sentence_transformers",
    "tokenizers",
    "bm25s",
    "tiktoken",
    "numpy",
    "httpx",
)


@pytest.mark.parametrize("name", toolsearch.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(toolsearch, name) is not None


def test_names_that_are_lazy_and_names_that_are_typed_are_the_same() -> None:
    tree = ast.parse(Path(toolsearch.__file__).read_text(encoding="utf-8"))
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (alias.name, node.module.removeprefix("toolsearch."))
        for node in guard.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert typed == set(toolsearch._MODULES.items())
    assert set(toolsearch.__all__) == {name for name, _ in typed} | {"__version__"}


def test_no_module_hides_a_public_name() -> None:
    """Python binds a module to its package when it is first imported, over whatever is there."""
    modules = {path.name.removesuffix(".py") for path in Path(toolsearch.__file__).parent.iterdir()}
    assert not modules & (set(toolsearch.__all__) - {"__version__"})


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ToolSercher'"):
        _ = toolsearch.ToolSercher


def test_the_import_loads_nothing_heavy() -> None:
    code = "import sys, toolsearch; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "toolsearch" in loaded
    assert not {module.split(".")[0] for module in loaded} & set(HEAVY)
