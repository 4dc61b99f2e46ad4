"""The environment of a child process: the few variables that programs need to run, and what is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

INHERITED = (
    (
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    )
    if sys.platform == "win32"
    else ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
"""What is passed on of the program's own environment; keys and tokens are not among it."""


def child_environment(
    own: Mapping[str, str], stated: Mapping[str, str], inherited: Iterable[str] = ()
) -> dict[str, str]:
    """The variables of a child: some of `own`, those named in `inherited`, and over them `stated`."""
    kept = {name: own[name] for name in (*INHERITED, *inherited) if name in own}
    # A value like this is a function that a shell exported, and would be run by one.
    return {name: value for name, value in kept.items() if not value.startswith("()")} | dict(stated)
