"""What a failure says to people, and with which code the process ends."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from toolsearch.cli.output import be_lenient, discard_output, replace_closed_streams, say
from toolsearch.exceptions import (
    ChatModelError,
    DatabaseError,
    EmbeddingError,
    RerankerError,
    SchemaVersionError,
    ServiceUnreachableError,
    TokenizerError,
    ToolFailed,
    ToolIndexError,
    ToolSearchError,
)


class ExitCode(IntEnum):
    """How a command ended; 130 after an interrupt, 141 where nobody reads the output any more."""

    OK = 0
    FOUND = 1
    BAD_INPUT = 2
    NO_INDEX = 3
    FAILED = 4


EXIT_CODES = """\b
Exit codes:
  0  done
  1  done, and something is wrong: lint found errors, an index is not what was written, a tool failed
  2  the command line, a catalog, a query file or a request cannot be used
  3  the index is missing, damaged, locked, or built by another embedder or release
  4  a model, an embedder, a tokenizer, a tool's server, a database, the disk or the network failed"""


class Commands(TyperGroup):
    """A group of commands whose failures are one message on standard error and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        replace_closed_streams()
        be_lenient()
        try:
            return super().main(*args, **kwargs)
        except OSError as exc:
            # Help or a message could not be written; there may be no place to say so.
            discard_output()
            with suppress(OSError):
                say(f"Error: {exc}")
            sys.exit(ExitCode.FAILED)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            discard_output()
            raise typer.Exit(141) from None
        except typer.BadParameter as exc:
            exc.message = _plain(exc.message)
            raise
        except (ToolSearchError, OSError) as exc:
            say(f"Error: {exc}")
            raise typer.Exit(exit_code(exc)) from None
        except (ImportError, ValueError) as exc:
            message = missing_extra(exc) if isinstance(exc, ImportError) else request_problem(exc)
            if message is None:
                raise
            say(f"Error: {message}")
            raise typer.Exit(ExitCode.BAD_INPUT) from None
        return result


def exit_code(error: ToolSearchError | OSError) -> ExitCode:
    """The code for an error that was raised on purpose, or that the system reported."""
    if isinstance(error, ToolIndexError | SchemaVersionError):
        return ExitCode.NO_INDEX
    if isinstance(
        error,
        ChatModelError
        | EmbeddingError
        | RerankerError
        | TokenizerError
        | ToolFailed
        | DatabaseError
        | ServiceUnreachableError
        | OSError,
    ):
        return ExitCode.FAILED
    return ExitCode.BAD_INPUT


def missing_extra(error: ImportError) -> str | None:
    """What to install for a command that needs an extra; None for any other error of an import."""
    if "pip install 'toolsearch[" in str(error):
        return str(error)
    package = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(package) if isinstance(error, ModuleNotFoundError) else None
    if extra is None:
        return None
    return f"This command needs the package {package}. Install it: pip install 'toolsearch[{extra}]'"


def request_problem(error: ValueError) -> str | None:
    """What is wrong with a request, in the words of the command line; None for any other error."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None
    problems = []
    for fault in error.errors(include_url=False):
        field = str(fault["loc"][0]) if fault["loc"] else ""
        if fault["type"] == "too_long":
            limits = fault["ctx"]
            problems.append(f"{_OPTIONS.get(field, field)}: at most {limits['max_length']} at once")
            continue
        said = _plain(fault["msg"])
        given = "" if field == "queries" else f", not {fault['input']!r:.60}"
        problems.append(f"{_OPTIONS.get(field, field)}: {said}{given}")
    return "; ".join(problems) + "."


def _plain(message: str) -> str:
    """What the validator says, without its own terms."""
    return message.replace("Input should", "must").removeprefix("Value error, ")


_EXTRAS = {
    "anthropic": "anthropic",
    "fastapi": "server",
    "mcp": "mcp",
    "onnx": "tune",
    "openai": "openai",
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    "sentence_transformers": "sentence-transformers",
    "starlette": "server",
    "torch": "tune",
    "transformers": "tune",
    "uvicorn": "server",
    "xllamacpp": "offline-model",
}
_OPTIONS = {"queries": "QUERY", "k": "-k", "max_k": "--max-k"}
