"""The errors are where they are imported from, and the tree that is drawn is the one that there is."""

import inspect
import pickle
import re

from toolsearch import exceptions

ERRORS = {
    name: value
    for name in exceptions.__all__
    if inspect.isclass(value := getattr(exceptions, name)) and issubclass(value, Exception)
}


def drawn() -> dict[str, str]:
    """Each error of the tree at the top of the package, with the one that it hangs from."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (exceptions.__doc__ or "").splitlines():
        found = re.match(r"([│├└─ ]*)(\w+Error|ToolRetry|ToolFailed)\b", line)
        if found:
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            parents[found[2]] = above[depth - 1] if depth else "Exception"
    return parents


def test_the_drawn_tree_is_the_one_that_there_is() -> None:
    assert drawn() == {name: error.__bases__[0].__name__ for name, error in ERRORS.items()}


def test_every_error_says_that_it_is_of_the_package_that_exports_it() -> None:
    assert {error.__module__ for error in ERRORS.values()} == {"toolsearch.exceptions"}
    assert pickle.loads(pickle.dumps(exceptions.ToolRetry)) is exceptions.ToolRetry
