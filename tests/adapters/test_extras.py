"""Frameworks are loaded by their own adapters alone, which name the extra that is missing."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("langchain", "langchain", "langchain"),
        ("openai_agents", "agents", "openai-agents"),
    ],
)
def test_a_missing_framework_names_its_extra(
    adapter: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"toolsearch.adapters.{adapter}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'toolsearch\[{extra}\]'"):
        importlib.import_module(f"toolsearch.adapters.{adapter}")


def test_the_other_adapters_load_no_framework() -> None:
    code = "import sys, toolsearch.adapters, toolsearch.adapters.passed; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"pydantic_ai", "langchain", "langchain_core", "agents"} & set(loaded.split())
