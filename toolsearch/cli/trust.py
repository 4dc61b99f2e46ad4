"""`toolsearch trust`: what tools said when they were approved, and what they say now."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from toolsearch.cli.catalogs import load_catalog
from toolsearch.cli.defaults import OWN_TRUST_FILE, told_trust_file
from toolsearch.cli.errors import EXIT_CODES, ExitCode
from toolsearch.cli.options import CatalogFiles, Json, Source, Strict
from toolsearch.cli.output import counted, printable, say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.trust import TrustEntry, TrustFile, TrustRecord

group = typer.Typer(help="Approve what tools say of themselves.", no_args_is_help=True, rich_markup_mode=None)

LOCAL = "(local)"
"""Stands for the empty name of the source of local tools."""
_SHOWN_DIGEST = 12


class PolicyWord(StrEnum):
    """What becomes of definitions that nobody has approved."""

    HOLD = "hold"
    WARN = "warn"
    FOLLOW = "follow"


CheckedFile = Annotated[Path, typer.Option("-f", "--file", metavar="FILE", help="The trust file.")]
File = Annotated[
    Path,
    typer.Option(
        "-f",
        "--file",
        metavar="FILE",
        help=f"The trust file.  [default: {OWN_TRUST_FILE} here, or else that of the gateway]",
        default_factory=told_trust_file,
        show_default=False,
    ),
]
SourceName = Annotated[
    str, typer.Argument(metavar="SOURCE", help="The tool source, such as a server.", show_default=False)
]
AnySource = Annotated[
    str | None, typer.Argument(metavar="[SOURCE]", help="Only of this tool source.", show_default=False)
]
ToolNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOOL]...", help="Names of its tools; none means all.", show_default=False),
]


@group.command("check", epilog=EXIT_CODES)
def check(
    catalog: CatalogFiles,
    *,
    file: CheckedFile = Path(OWN_TRUST_FILE),
    policy: Annotated[
        PolicyWord,
        typer.Option(help="Of changed and new tools: hold leaves them out, warn uses them, follow approves."),
    ] = PolicyWord.HOLD,
    strict: Strict = False,
    source: Source = "",
    json: Json = False,
) -> None:
    """Compare the tools of catalogs with what was approved.

    Tools of a source that is seen for the first time are approved, but for those that hide text, give
    orders or could be taken for others. Exits with 1 where a tool is left out.
    """
    from toolsearch.trust import TrustGuard
    from toolsearch.trust.guard import admit_all

    loaded = load_catalog(catalog, strict=strict, source=source)
    reviews = admit_all(TrustGuard(file, policy.value), loaded.catalog.values())
    findings = [finding for done in reviews for finding in done.findings]
    held = sum(finding.held for finding in findings)
    admitted = sum(len(done.admitted) for done in reviews)
    if json:
        show_json({"admitted": admitted, "held": held, "findings": [f.to_json() for f in findings]})
    else:
        for finding in findings:
            show(printable(finding.message))
        show(f"{counted(admitted, 'tool')} may be used, {held:,} left out")
    if held:
        raise typer.Exit(ExitCode.FOUND)


@group.command("list", epilog=EXIT_CODES)
def list_entries(source: AnySource = None, *, file: File, json: Json = False) -> None:
    """List the tools that are known and whether they are approved."""
    record = _opened(file).load()
    rows = [
        (name, tool, _state(entry), *_digests(entry))
        for name, tools in sorted(record.sources.items())
        if source is None or name == _named(record, file, source)
        for tool, entry in sorted(tools.items(), key=lambda item: item[0])
    ]
    if json:
        keys = ("source", "tool", "state", "approved", "proposed")
        show_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    if not rows:
        say("No tools are known yet. Those of a source are recorded when they are first seen.")
        return
    show_table(
        [("source", "left"), ("tool", "left"), ("state", "left"), ("approved", "left"), ("proposed", "left")],
        [(_called(name), *rest, a[:_SHOWN_DIGEST], p[:_SHOWN_DIGEST]) for name, *rest, a, p in rows],
    )


@group.command("show", epilog=EXIT_CODES)
def show_entry(
    source: SourceName,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its raw name.", show_default=False)],
    *,
    file: File,
    json: Json = False,
) -> None:
    """Show the approved definition of a tool, or else the one that waits."""
    record = _opened(file).load()
    name = _named(record, file, source)
    entry = record.sources[name][_tools(record, file, name, [tool])[0]]
    definition = entry.approved or entry.proposed
    if definition is None:
        return
    if json:
        show_json({"state": _state(entry), "digest": definition.digest, "definition": definition.content})
        return
    show(f"{_state(entry)}, {definition.digest}")
    for line in definition.lines():
        show(line)


@group.command("diff", epilog=EXIT_CODES)
def diff(source: AnySource = None, tools: ToolNames = None, *, file: File) -> None:
    """Show what tools say otherwise than when they were approved.

    Exits with 1 where there is something to approve.
    """
    from toolsearch.trust import definition_diff

    record = _opened(file).load()
    names = sorted(record.sources) if source is None else [_named(record, file, source)]
    found = False
    for name in names:
        for tool in _tools(record, file, name, tools):
            lines = definition_diff(record.sources[name][tool])
            if lines:
                found = True
                show(printable(f"{_called(name)} {tool}"))
                for line in lines:
                    show(line)
                show()
    if found:
        raise typer.Exit(ExitCode.FOUND)
    show("Nothing waits for approval.")


@group.command("approve", epilog=EXIT_CODES)
def approve(
    source: SourceName,
    tools: ToolNames = None,
    *,
    file: File,
    digest: Annotated[
        str, typer.Option(metavar="HEX", help="Only if the definition has this digest, or begins so.")
    ] = "",
) -> None:
    """Approve what tools of a source say now, as `diff` shows it."""
    opened = _opened(file)

    def approved(record: TrustRecord) -> tuple[TrustRecord, int]:
        name = _named(record, file, source)
        entries = record.sources[name]
        waiting = [key for key in _tools(record, file, name, tools) if entries[key].proposed is not None]
        for key in waiting if digest else ():
            if not _digests(entries[key])[1].startswith(digest):
                _refuse(file, f"what {key!r} of {source!r} says is not {digest}: look at it again with diff.")
        return record.approved(name, waiting), len(waiting)

    n = opened.update(approved)
    show(f"{counted(n, 'tool')} approved" if n else "There was nothing to approve.")


@group.command("forget", epilog=EXIT_CODES)
def forget(source: SourceName, tools: ToolNames = None, *, file: File) -> None:
    """Forget tools of a source, or all of it, as if they had never been seen."""

    def without(record: TrustRecord) -> tuple[TrustRecord, int]:
        name = _named(record, file, source)
        gone = _tools(record, file, name, tools)
        return record.without(name, gone), len(gone)

    show(f"{counted(_opened(file).update(without), 'tool')} forgotten")


def _opened(path: Path) -> TrustFile:
    from toolsearch.trust import TrustFile

    if not path.exists():
        _refuse(path, "it does not exist. Make it: toolsearch trust check CATALOG")
    return TrustFile(path)


def _named(record: TrustRecord, path: Path, source: str) -> str:
    """The source that is meant."""
    name = "" if source == LOCAL else source
    if name not in record.sources:
        _refuse(path, f"there is no source {source!r}.{_meant(source, record.sources)}")
    return name


def _tools(record: TrustRecord, path: Path, source: str, tools: list[str] | None) -> list[str]:
    """The tools of `source` that are meant, all where none is named."""
    entries: Any = record.sources[source]
    for tool in tools or ():
        if tool not in entries:
            _refuse(path, f"there is no tool {tool!r} of {_called(source)!r}.{_meant(tool, entries)}")
    return list(tools) if tools else sorted(entries)


def _meant(name: str, names: Any) -> str:
    from toolsearch.naming import near_names

    near = near_names(name, names)
    return f" Did you mean {near[0]!r}?" if near else ""


def _refuse(path: Path, reason: str) -> NoReturn:
    from toolsearch.exceptions import TrustError

    raise TrustError(path, reason)


def _state(entry: TrustEntry) -> str:
    if entry.proposed is None:
        return "approved"
    return "new" if entry.approved is None else "changed"


def _digests(entry: TrustEntry) -> tuple[str, str]:
    """Those of what is approved and of what is proposed; empty where there is none."""
    approved, proposed = (d.digest if d is not None else "" for d in (entry.approved, entry.proposed))
    return approved, proposed


def _called(source: str) -> str:
    return source or LOCAL
