"""`toolsearch sources`: the MCP servers and OpenAPI documents of a configuration file."""

from __future__ import annotations

import json as json_text
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.completion import source_names
from toolsearch.cli.defaults import told_config
from toolsearch.cli.errors import EXIT_CODES, ExitCode
from toolsearch.cli.options import DEFAULT_CONFIG, Json
from toolsearch.cli.output import counted, printable, say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.sources.checking import SourceCheck

group = typer.Typer(
    help="Look after MCP servers and OpenAPI documents.", no_args_is_help=True, rich_markup_mode=None
)

_ISSUES_SHOWN = 5
_WORDS_SHOWN = 5


class TransportWord(StrEnum):
    """What a server at a URL speaks."""

    HTTP = "http"
    SSE = "sse"


Config = Annotated[
    Path,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        help=f"The configuration: JSON with mcpServers.  [default: {DEFAULT_CONFIG}]",
        default_factory=told_config,
        show_default=False,
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME", help="Only these sources.", show_default=False, autocompletion=source_names
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Write without asking.")]


@group.command("list", epilog=EXIT_CODES)
def list_sources(*, config: Config, json: Json = False) -> None:
    """List the sources of a configuration; nothing is started.

    What looks like a secret is not shown.
    """
    from toolsearch.sources.config_summary import summary

    rows = [summary(name, key, entry) for name, (key, entry) in _entries(config).items()]
    if json:
        show_json([row.to_json() for row in rows])
        return
    if not rows:
        say("The configuration has no sources. Add one: toolsearch sources add --help")
        return
    show_table(
        [("source", "left"), ("kind", "left"), ("state", "left"), ("what", "left")],
        [(row.name, row.kind, "" if row.is_enabled else "disabled", row.what) for row in rows],
    )


@group.command("check", epilog=EXIT_CODES)
def check(
    names: Names = None,
    *,
    config: Config,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For starting and each page of a list.", min=0.1),
    ] = None,
    json: Json = False,
) -> None:
    """Connect to the sources, all at once, and say of each what works and what to do where it does not.

    Exits with 1 where one cannot be used.
    """
    from toolsearch.sources.checking import check_sources
    from toolsearch.sources.configured import read_sources

    found = read_sources(config)
    unknown = [name for name in names or () if name not in found.names]
    if unknown:
        raise typer.BadParameter(
            f"there is no source {unknown[0]!r} in {config}, or it is disabled.", param_hint="NAME"
        )
    done = check_sources(found.only(names) if names else found, timeout_s=timeout)
    if json:
        show_json([_json(each) for each in done])
    else:
        _show(done)
    if not all(each.works for each in done):
        raise typer.Exit(ExitCode.FOUND)


@group.command("add", epilog=EXIT_CODES)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.", show_default=False)],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="What starts the server, with its arguments.",
            show_default=False,
        ),
    ] = None,
    *,
    url: Annotated[str, typer.Option(metavar="URL", help="Where the server is, if it runs already.")] = "",
    openapi: Annotated[
        str, typer.Option(metavar="DOCUMENT", help="An OpenAPI document, by path or URL.")
    ] = "",
    env: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="For its process; VALUE may be ${VAR}.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="'NAME: VALUE'", help="For its URL; VALUE may have ${VAR}.")
    ] = None,
    transport: Annotated[
        TransportWord | None, typer.Option("--type", help="Of its URL; without it both are tried.")
    ] = None,
    server: Annotated[
        str, typer.Option(metavar="URL", help="Where an OpenAPI document is served, if not where it says.")
    ] = "",
    config: Config,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the source of this name.")] = False,
    yes: Yes = False,
) -> None:
    """Write a source into a configuration, after showing it.

    For example: toolsearch sources add notes --env TOKEN='${TOKEN}' -- npx -y notes-server

    Everything else in the file stays as it is. Keep secrets in the environment, and write ${VAR} for them.
    """
    from toolsearch.sources.config_file import ConfigFile
    from toolsearch.sources.config_summary import checked_entry, without_secrets

    if sum(map(bool, (command, url, openapi))) != 1:
        raise typer.BadParameter("give one of COMMAND, --url and --openapi.", param_hint="COMMAND")
    given: dict[str, Any] = {
        "command": command[0] if command else "",
        "args": command[1:] if command else [],
        "document": openapi,
        "env": _pairs(env, "=", "--env"),
        "type": transport.value if transport else "",
        "url": url,
        "server": server,
        "headers": _pairs(header, ":", "--header"),
    }
    entry = checked_entry(name, {key: value for key, value in given.items() if value})
    file = ConfigFile(config)
    held = file.entries().get(name)
    if held is not None and not replace:
        raise typer.BadParameter(f"{config} has a source {name!r}. Give --replace.", param_hint="NAME")
    say(f"{config}: {name}")
    say(json_text.dumps(without_secrets(entry), indent=2, ensure_ascii=False))
    if without_secrets(entry) != entry:
        say("It holds a secret. Better to write ${VAR} and keep it in the environment.")
    _agreed("Write it?", yes=yes)
    if held is not None and (held[0] == "openapi") != bool(openapi):
        file.remove(name)
    file.add(name, entry, is_document=bool(openapi))
    show(f"{config}: {name} added. Check it: toolsearch sources check {name} -c {config}")


@group.command("remove", epilog=EXIT_CODES)
def remove(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The source.", show_default=False, autocompletion=source_names),
    ],
    *,
    config: Config,
    yes: Yes = False,
) -> None:
    """Take a source out of a configuration, after showing it; everything else in the file stays as it is."""
    from toolsearch.sources.config_file import ConfigFile
    from toolsearch.sources.config_summary import without_secrets

    entries = _entries(config)
    if name not in entries:
        from toolsearch.naming import near_names

        near = near_names(name, entries)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"there is no source {name!r} in {config}.{meant}", param_hint="NAME")
    say(f"{config}: {name}")
    say(json_text.dumps(without_secrets(entries[name][1]), indent=2, ensure_ascii=False))
    _agreed("Remove it?", yes=yes)
    ConfigFile(config).remove(name)
    show(f"{config}: {name} removed")


def _entries(config: Path) -> dict[str, tuple[str, Any]]:
    from toolsearch.exceptions import McpConfigError
    from toolsearch.sources.config_file import ConfigFile

    if not config.exists():
        raise McpConfigError(
            "it does not exist. Make it: toolsearch sources add NAME -- COMMAND...", path=config
        )
    return ConfigFile(config).entries()


def _pairs(given: list[str] | None, sign: str, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or ():
        key, found, value = text.partition(sign)
        if not found or not key.strip():
            # It may be a secret without its name.
            raise typer.BadParameter(f"one of them is no NAME{sign}VALUE.", param_hint=option)
        pairs[key.strip()] = value.strip()
    return pairs


def _agreed(question: str, *, yes: bool) -> None:
    """Returns where the user agrees; ends the command otherwise."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is nobody to ask. Give --yes.", param_hint="--yes")
    if not typer.confirm(question, err=True):
        say("Nothing was written.")
        raise typer.Exit(ExitCode.FOUND)


def _json(done: SourceCheck) -> dict[str, Any]:
    from toolsearch.cli.catalogs import issue_json

    return {
        "source": done.name,
        "kind": done.kind,
        "works": done.works,
        "tools": done.n_tools,
        "filtered": done.n_filtered,
        "took_s": round(done.took_s, 3),
        "version": done.version,
        "reason": done.reason,
        "hint": done.hint,
        "issues": [issue_json(issue) for issue in done.issues],
        "last_words": list(done.last_words),
    }


def _show(done: tuple[SourceCheck, ...]) -> None:
    show_table(
        [
            ("source", "left"),
            ("kind", "left"),
            ("state", "left"),
            ("tools", "right"),
            ("s", "right"),
            ("", "left"),
        ],
        [
            (
                each.name,
                each.kind,
                "works" if each.works else "fails",
                f"{each.n_tools:,}" if each.works else "",
                f"{each.took_s:.1f}",
                each.version,
            )
            for each in done
        ],
    )
    for each in done:
        _show_problems(each)
    n_works = sum(each.works for each in done)
    tools = counted(sum(each.n_tools for each in done), "tool")
    show(f"{n_works:,} of {counted(len(done), 'source')} {'works' if n_works == 1 else 'work'}: {tools}")


def _show_problems(done: SourceCheck) -> None:
    for issue in done.issues[:_ISSUES_SHOWN]:
        say(str(issue))
    if len(done.issues) > _ISSUES_SHOWN:
        say(f"and {len(done.issues) - _ISSUES_SHOWN:,} more of {done.name}; --json has all.")
    if done.works:
        return
    show()
    show(printable(f"{done.name} {done.reason}"))
    for line in done.last_words[-_WORDS_SHOWN:]:
        show(printable(f"  | {line}"))
    if done.hint:
        show(printable(f"  Hint: {done.hint}"))
