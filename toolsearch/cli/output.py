"""Where results and messages go: results to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

Align: TypeAlias = Literal["left", "right"]
Column: TypeAlias = tuple[str, Align]

_WIDTH_WITHOUT_TERMINAL = 160
_GAP = 2
_LEAST_TEXT = 20


def be_lenient() -> None:
    """Let a character that the terminal's encoding lacks be printed as an escape and not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(message: str) -> None:
    """A message to people, on standard error."""
    print(printable(message, keep="\n"), file=sys.stderr)  # noqa: T201


def show(text: str = "") -> None:
    """A line of the result."""
    print(text)  # noqa: T201


def show_json(value: Any) -> None:
    """The result as indented JSON, one value."""
    # An escape of any other error handler would not be JSON.
    ascii_only = not _is_unicode(sys.stdout)
    show(json.dumps(value, indent=2, ensure_ascii=ascii_only))


def show_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, cut_last: bool = False) -> None:
    """The result as a table; with `cut_last` the last column is cut to what the line has left."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    console = _console(sys.stdout)
    cells = [[Text(printable(cell)) for cell in row] for row in rows]
    if cut_last:
        taken = sum(
            max(cell_len(header), *(row[i].cell_len for row in cells)) + _GAP
            for i, (header, _) in enumerate(columns[:-1])
        )
        left = max(console.width - taken, _LEAST_TEXT)
        for row in cells:
            row[-1].truncate(left, overflow="ellipsis" if _is_unicode(sys.stdout) else "crop")
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for header, align in columns:
        table.add_column(header, justify=align, overflow="fold")
    for row in cells:
        table.add_row(*row)
    console.print(table)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with (done, total), drawn on standard error; None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def printable(text: str, *, keep: str = "") -> str:
    """`text` with blanks for characters that could drive a terminal, all that do not print but `keep`."""
    return "".join(c if c.isprintable() or c in keep else " " for c in text)


def first_line(text: str) -> str:
    """The first line of `text` that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent, such as ``97.3 %``."""
    return f"{100 * part / whole:.1f} %" if whole else "0.0 %"


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    # Without a terminal nothing need be cut to the 80 columns that rich assumes.
    wide = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=stream,
        width=_WIDTH_WITHOUT_TERMINAL if wide else None,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("_", "-").startswith("utf")
