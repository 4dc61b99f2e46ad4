"""Where results and messages go: results to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Align: TypeAlias = Literal["left", "right"]
Column: TypeAlias = tuple[str, Align]

_WIDTH_WITHOUT_TERMINAL = 160
_GAP = 2
_LEAST_TEXT = 30
_INDENT = 4


def be_lenient() -> None:
    """Let a character that the terminal's encoding lacks be printed as an escape and not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def replace_closed_streams() -> None:
    """Stand the null device in for standard streams that the process was started without."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def discard_output() -> None:
    """Send to nowhere what is still buffered for standard output: the interpreter flushes it in the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    """The result as a table, in which no word is broken.

    With `cut_last` the last column is cut to what the line has left. Where that is too little to read, it
    goes on a line of its own below each row.
    """
    from rich.cells import cell_len
    from rich.text import Text

    cells = [[Text(printable(cell)) for cell in row] for row in rows]
    widths = [
        max(cell_len(header), *(row[i].cell_len for row in cells), 0) for i, (header, _) in enumerate(columns)
    ]
    below: list[Text] = []
    if cut_last:
        width = _console(sys.stdout).width
        left = width - sum(widths[:-1]) - _GAP * len(widths[:-1])
        if left < _LEAST_TEXT:
            columns, below, left = columns[:-1], [row.pop() for row in cells], width - _INDENT
        for text in below or [row[-1] for row in cells]:
            text.truncate(max(left, 1), overflow="ellipsis" if _is_unicode(sys.stdout) else "crop")
    header, *lines = _drawn(columns, cells, width=sum(widths) + _GAP * len(widths))
    show(header)
    for line, text in zip_longest(lines, below, fillvalue=Text()):
        show(str(line))
        if text:
            show(" " * _INDENT + str(text))


def _drawn(columns: Sequence[Column], cells: Sequence[Sequence[Text]], *, width: int) -> list[str]:
    """The lines of a table that is as wide as it need be; a terminal shows more as another line."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for header, align in columns:
        table.add_column(header, justify=align, no_wrap=True)
    for row in cells:
        table.add_row(*row)
    console = _console(sys.stdout, width=width)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().split("\n")[:-1]]


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


def counted(n: int, noun: str) -> str:
    """``1 tool`` or ``1,234 tools``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def first_line(text: str) -> str:
    """The first line of `text` that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent, such as ``97.3 %``."""
    return f"{100 * part / whole:.1f} %" if whole else "0.0 %"


def _console(stream: TextIO, *, width: int | None = None) -> Console:
    from rich.console import Console

    # Without a terminal nothing need be cut to the 80 columns that rich assumes.
    wide = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=stream,
        width=width or (_WIDTH_WITHOUT_TERMINAL if wide else None),
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("_", "-").startswith("utf")
