"""`toolsearch call`: one call of one tool."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.completion import tool_names
from toolsearch.cli.defaults import told_config
from toolsearch.cli.errors import ExitCode
from toolsearch.cli.options import ConfigFiles, Json
from toolsearch.cli.output import printable, say, show, show_json

if TYPE_CHECKING:
    from toolsearch.messages import ToolResult
    from toolsearch.tools import JsonObject

_ISSUES_SHOWN = 5


def call(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The tool: server__tool as search shows it, server/tool, or its own name alone.",
            show_default=False,
            autocompletion=tool_names,
        ),
    ],
    *,
    args: Annotated[
        str, typer.Option("--args", metavar="JSON", help="The arguments, an object; - is standard input.")
    ] = "{}",
    config: ConfigFiles = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the whole text of the result there, and its pictures beside it.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Call a tool of an MCP server or an OpenAPI document.

    The result goes to standard output, cut as for a model unless --output takes all of it. Where the tool
    says that it failed, its words go to standard error and the command exits with 1.
    """
    from toolsearch.exceptions import ToolFailed, UnknownToolError
    from toolsearch.messages import ToolResult
    from toolsearch.sources.open_tools import found, may_hold, open_tools, sources_at

    arguments = _arguments(args)
    sources = may_hold(sources_at(config or [str(told_config())]), name)
    with open_tools(sources, whole=output is not None) as opened:
        try:
            tool = found(opened.catalog, name)
        except UnknownToolError:
            for issue in opened.issues[:_ISSUES_SHOWN]:
                say(str(issue))
            if any(issue.severity == "error" and not issue.tool for issue in opened.issues):
                # It may be one of a source that failed.
                raise ToolFailed(f"{name!r} is not among the tools of the sources that work.") from None
            raise
        result = tool.call_sync(arguments)
    # The sources give nothing else.
    assert isinstance(result, ToolResult)  # noqa: S101
    _give(tool.name, result, output=output, json=json)
    if result.is_error:
        raise typer.Exit(ExitCode.FOUND)


def _arguments(text: str) -> JsonObject:
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        arguments = json.loads(text)
    except ValueError as exc:
        raise typer.BadParameter(f"no JSON: {exc}.", param_hint="--args") from None
    if not isinstance(arguments, dict):
        raise typer.BadParameter(
            'the arguments are one object, such as {"city": "Oslo"}.', param_hint="--args"
        )
    return arguments


def _give(name: str, result: ToolResult, *, output: Path | None, json: bool) -> None:
    from toolsearch.messages import ImagePart, TextPart

    text = "\n".join(part.text for part in result.content if isinstance(part, TextPart))
    pictures = [part for part in result.content if isinstance(part, ImagePart)]
    if json:
        shown: dict[str, Any] = {
            "tool": name,
            "is_error": result.is_error,
            "content": [part.model_dump(mode="json") for part in result.content],
            "structured": result.structured,
        }
        if output is None:
            show_json(shown)
            return
        text = _indented(shown)
    elif result.is_error:
        say(text)
        return
    elif output is None:
        # A server must not drive the terminal; a program that reads it gets it as it is.
        show(printable(text, keep="\n\t") if sys.stdout.isatty() else text)
        return
    output.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")
    say(f"{output}: {len(text):,} characters.")
    for number, picture in enumerate(() if json else pictures, start=1):
        _write_picture(output, number, picture)


def _write_picture(output: Path, number: int, picture: Any) -> None:
    import base64

    content = base64.b64decode(picture.data)
    beside = output.with_name(f"{output.name}.{number}.{picture.media_type.rpartition('/')[2]}")
    beside.write_bytes(content)
    say(f"{beside}: {len(content):,} bytes.")


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
