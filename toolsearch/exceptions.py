"""Every error that `toolsearch` raises on purpose.

ToolSearchError
├── DefinitionError               a tool definition that cannot be used
│   ├── SchemaError               its input schema is not a usable JSON Schema
│   ├── ParameterError            a parameter of a function that no schema can describe
│   │   └── UnresolvedTypeError   its annotation names a type that does not exist, perhaps only not yet
│   ├── ReservedNameError         its name belongs to a built-in tool
│   └── DuplicateToolError        two tools with one public name
├── CatalogFileError              a catalog file that cannot be read
├── UnknownToolError              a name that the catalog does not have
├── SearchRequestError            a search that cannot be answered as asked
├── EmbeddingError                an embedder failed, or answered nonsense
│   ├── EmbedderUnavailableError  an embedder that cannot be loaded or reached
│   ├── RequestTooLargeError      an embedding service refuses so much text at once
│   ├── DimensionMismatchError    vectors of another length than expected
│   └── EmbeddingCacheError       the vectors kept on disk cannot be used
├── ToolIndexError                an index folder that cannot be used
│   ├── IndexNotFoundError        there is no index at that path
│   ├── IndexDamagedError         a file is missing, truncated or altered
│   ├── IndexMismatchError        built by another embedder
│   ├── IndexFormatError          written in another format version
│   └── IndexLockedError          another writer is busy with it
├── ChatRequestError              a request that the model's provider would refuse
├── ChatModelError                a model's provider refused or failed
│   ├── ModelUnreachableError     no connection, or one that broke
│   ├── RateLimitedError          too many requests or tokens
│   ├── OverloadedError           the provider is too busy, or failing
│   ├── AuthenticationError       it refuses the key, or the key may not do this
│   ├── BadRequestError           it refuses the request
│   │   └── ContextTooLongError   the conversation and its tools do not fit the model
│   └── MalformedAnswerError      it answered something that is no answer
├── TokenizerError                a tokenizer that cannot be loaded
├── ToolLimitError                more tools must be visible than a request may hold
├── UnsearchedToolsError          a request of a wrapped client that would send all its tools
├── ChainError                    advisors that cannot work together, or broke their promise
├── LimitExceededError            a tool-calling loop went past one of its limits
├── PausedRunError                a paused run that cannot be resumed as asked
├── RunningLoopError              a synchronous call within a running event loop
├── AnswerFormatError             no answer of the model had the form that was asked for
├── ToolCallError                 a tool call that failed; its text is meant for the model
│   ├── ToolArgumentsError        its arguments were not accepted, so nothing ran
│   ├── ToolRetry                 the tool asks the model to try again in another way
│   └── ToolFailed                the tool failed, and says why
│       └── ToolTimeoutError      it took longer than it may
├── ToolResultError               a tool returned what cannot be sent to a model
├── StoreError                    a file of conversations, sessions or calls that cannot be used
├── EvaluationError               queries, qrels or a run that cannot be scored
└── TuningError                   an encoder that cannot be tuned as asked
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self


class ToolSearchError(Exception):
    """Base of every error that this package raises on purpose."""


class DefinitionError(ToolSearchError, ValueError):
    """A tool definition that cannot be used; `tool` names it, `reason` says why.

    `path` and `line` say where it was read; both are None where it comes from no file.
    """

    path: str | None = None
    line: int | None = None

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        super().__init__(f"Tool {tool!r}: {reason}")

    def at(self, path: str, line: int | None) -> Self:
        """This error, with the file and line that it is about."""
        self.path = path
        self.line = line
        where = path if line is None else f"{path}:{line}"
        self.args = (f"{where}: {self.args[0]}",)
        return self


class SchemaError(DefinitionError):
    """An input schema that is not a usable JSON Schema."""


class ParameterError(DefinitionError):
    """A parameter of a Python function that no schema can describe; `parameter` names it."""

    def __init__(self, tool: str, parameter: str, reason: str) -> None:
        self.parameter = parameter
        super().__init__(tool, f"parameter {parameter!r}: {reason}" if parameter else reason)


class UnresolvedTypeError(ParameterError):
    """An annotation names a type that does not exist, perhaps only not yet; `type_name` is that name.

    Raised when the schema is first needed, so a class may be defined after the tool that takes it.
    """

    def __init__(self, tool: str, parameter: str, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            tool,
            parameter,
            f"its type {type_name!r} is not defined. Define or import it in the tool's module.",
        )


class ReservedNameError(DefinitionError):
    """A tool that would take the name of a built-in one."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool, "this name is reserved for a built-in tool. Choose another name.")


class DuplicateToolError(DefinitionError):
    """Two different tools with one public name; `names` lists every such name."""

    def __init__(self, names: tuple[str, ...], reason: str | None = None) -> None:
        self.names = names
        reason = reason or (
            "already in the catalog. Rename one, give each its own source or id, "
            "or ask for the replacement with replace=True."
        )
        if len(names) > 1:
            reason = f"and {len(names) - 1} more ({', '.join(names[1:6])}): {reason}"
        super().__init__(names[0], reason)


class CatalogFileError(ToolSearchError, ValueError):
    """A catalog file that cannot be read; `path` and, where known, `line` say where."""

    def __init__(self, path: Path | str, reason: str, *, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = reason
        where = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {reason}")


class UnknownToolError(ToolSearchError, KeyError):
    """A name that the catalog does not have; `near` holds names that it may have meant."""

    def __init__(self, name: str, near: tuple[str, ...] = ()) -> None:
        self.name = name
        self.near = near
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        super().__init__(f"Unknown tool {name!r}.{hint}")

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])


class SearchRequestError(ToolSearchError, ValueError):
    """A search that cannot be answered as asked."""


class EmbeddingError(ToolSearchError):
    """An embedder failed, or answered something that is no embedding.

    `embedded` holds the rows of the texts that succeeded all the same, by position in the call.
    """

    def __init__(self, message: str, *, embedded: Mapping[int, Any] | None = None) -> None:
        self.embedded = dict(embedded or {})
        super().__init__(message)


class EmbedderUnavailableError(EmbeddingError):
    """An embedder that cannot be loaded or reached."""


class RequestTooLargeError(EmbeddingError):
    """An embedding service refuses so much text at once."""


class DimensionMismatchError(EmbeddingError):
    """Vectors of another length than expected."""

    def __init__(self, *, expected: int, got: int, embedder_id: str | None = None) -> None:
        self.expected = expected
        self.got = got
        self.embedder_id = embedder_id
        answered = "Got" if embedder_id is None else f"Embedder {embedder_id!r} answered"
        super().__init__(
            f"{answered} vectors of {got} dimensions where {expected} were expected. "
            "Use the embedder that the index was built with, or rebuild the index."
        )


class EmbeddingCacheError(EmbeddingError):
    """The vectors kept on disk cannot be used; `path` names the file."""

    def __init__(self, path: Path | str, reason: str, *, remedy: str) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"Embedding cache {str(path)!r} {reason}. {remedy}")


class ToolIndexError(ToolSearchError):
    """An index folder that cannot be used; `path` names it."""

    def __init__(self, path: Path | str, reason: str, *, remedy: str | None = None) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy or f"Rebuild it: toolsearch index build CATALOG -o {path}"
        super().__init__(f"Index {str(path)!r} {reason}. {self.remedy}")


class IndexNotFoundError(ToolIndexError):
    """There is no index at that path."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, "does not exist", remedy=f"Build it: toolsearch index build CATALOG -o {path}")


class IndexDamagedError(ToolIndexError):
    """A file of the index is missing, truncated or altered; `file` names it."""

    def __init__(self, path: Path | str, file: str, reason: str) -> None:
        self.file = file
        super().__init__(path, f"is damaged: {file} {reason}")


class IndexMismatchError(ToolIndexError):
    """The index was built by another embedder than the one it is loaded with."""

    def __init__(
        self, path: Path | str, *, built_with: str, built_dim: int, loaded_with: str, loaded_dim: int
    ) -> None:
        self.built_with = built_with
        self.loaded_with = loaded_with
        super().__init__(
            path,
            f"was built with {built_with!r} ({built_dim} dimensions), not {loaded_with!r} ({loaded_dim})",
            remedy=f"Rebuild it, or load it with {built_with!r}: toolsearch index build CATALOG -o {path}",
        )


class IndexFormatError(ToolIndexError):
    """The index was written in a format version that this release does not read."""


class TokenizerError(ToolSearchError):
    """A tokenizer that is unknown, or whose vocabulary is missing or altered; `encoding` names it."""

    def __init__(self, encoding: str, reason: str) -> None:
        self.encoding = encoding
        self.reason = reason
        super().__init__(f"Tokenizer {encoding!r} {reason}")


class ToolLimitError(ToolSearchError, ValueError):
    """More tools must be in every request than `max_tools` allows; `visible` is how many."""

    def __init__(self, max_tools: int, visible: int) -> None:
        self.max_tools = max_tools
        self.visible = visible
        super().__init__(
            f"{visible} tools must be in every request, built-in and pinned ones included, but max_tools is "
            f"{max_tools}. Raise it, or pin fewer tools."
        )


class UnsearchedToolsError(ToolSearchError, ValueError):
    """A request of a wrapped client that takes tools, where none can be searched; `where` is its path."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        super().__init__(
            f"{where!r} cannot be had with tool search: {reason}. To send all tools, use the client that you "
            "gave to wrap."
        )


class ChainError(ToolSearchError, ValueError):
    """Advisors that cannot work together, or one that broke its promise; `advisors` names them."""

    def __init__(self, reason: str, advisors: tuple[str, ...] = ()) -> None:
        self.advisors = advisors
        super().__init__(reason)


class LimitExceededError(ToolSearchError):
    """A tool-calling loop went past one of its limits.

    Attributes:
        kind: Which: ``rounds``, ``calls_per_tool``, ``calls``, ``repeats``, ``wall_time_s`` or ``tokens``.
        limit: Its value.
        tool: Of which tool, where it is about one.
        messages: What the run had added to the conversation; every call in it has its result.
    """

    def __init__(
        self, reason: str, *, kind: str, limit: float, tool: str = "", messages: tuple[Any, ...] = ()
    ) -> None:
        self.kind = kind
        self.limit = limit
        self.tool = tool
        self.messages = messages
        super().__init__(reason)


class PausedRunError(ToolSearchError, ValueError):
    """A paused run that cannot be resumed as asked; `call_ids` holds the calls in question."""

    def __init__(self, reason: str, call_ids: tuple[str, ...] = ()) -> None:
        self.call_ids = call_ids
        super().__init__(reason)


class RunningLoopError(ToolSearchError, RuntimeError):
    """A synchronous call in a thread whose event loop is running; `instead` is to be awaited there."""

    def __init__(self, called: str, instead: str) -> None:
        self.called = called
        self.instead = instead
        super().__init__(f"An event loop is running in this thread: await {instead}(...), not {called}(...).")


class AnswerFormatError(ToolSearchError, ValueError):
    """No answer of the model had the form asked for; `answer` is the last one, `problems` its faults."""

    def __init__(self, answer: str, problems: tuple[str, ...], *, attempts: int) -> None:
        self.answer = answer
        self.problems = problems
        self.attempts = attempts
        super().__init__(
            f"None of {attempts} answers had the form asked for. The last: {'; '.join(problems)}"
        )


class IndexLockedError(ToolIndexError):
    """Another writer is busy with the index."""

    def __init__(self, path: Path | str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        super().__init__(
            path,
            f"is being written by another process or thread, for more than {timeout_s:g} s",
            remedy="Try again when that is done.",
        )


class RequestProblem(NamedTuple):
    """One thing that a provider would refuse: the `rule` it breaks, the `name` of the thing, and why."""

    rule: str
    name: str
    reason: str


class ChatRequestError(ToolSearchError, ValueError):
    """A request that the model's provider would refuse, found before it was sent; `problems` says why."""

    def __init__(self, provider: str, problems: tuple[RequestProblem, ...]) -> None:
        self.provider = provider
        self.problems = problems
        shown = " ".join(problem.reason for problem in problems[:5])
        more = f" And {len(problems) - 5} more." if len(problems) > 5 else ""
        super().__init__(f"{provider} would refuse this request. {shown}{more}")


class ChatModelError(ToolSearchError):
    """A model's provider refused or failed.

    Attributes:
        provider: The model's id, such as ``openai:gpt-5``.
        status: Of the HTTP answer; None where there was none, or the failure came within a stream.
        body: What the provider said, without secrets of the request.
        retry_after_s: Seconds that it asks to wait, where it does.
    """

    def __init__(
        self,
        provider: str,
        reason: str,
        *,
        status: int | None = None,
        body: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        self.provider = provider
        self.reason = reason
        self.status = status
        self.body = body
        self.retry_after_s = retry_after_s
        answered = "" if status is None else f" (HTTP {status})"
        super().__init__(f"{provider}: {reason}{answered}")


class ModelUnreachableError(ChatModelError):
    """No connection to the provider, or one that broke or was silent for too long."""


class RateLimitedError(ChatModelError):
    """Too many requests or tokens for the account."""


class OverloadedError(ChatModelError):
    """The provider is too busy, or failing."""


class AuthenticationError(ChatModelError):
    """The provider refuses the key, or the key may not do this."""


class BadRequestError(ChatModelError):
    """The provider refuses the request."""


class ContextTooLongError(BadRequestError):
    """The conversation and its tools do not fit the model."""


class MalformedAnswerError(ChatModelError):
    """The provider answered something that is no answer."""


class ToolCallError(ToolSearchError):
    """A tool call that failed; its text is meant for the model, so it holds no secrets."""


class ToolArgumentsError(ToolCallError, ValueError):
    """The arguments of a call were not accepted, so nothing ran.

    Attributes:
        tool: The tool's public name; empty where only the text of the arguments is known.
        problems: One sentence each: which argument, and why.
    """

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        self.tool = tool
        self.problems = problems
        of = f" of {tool!r}" if tool else ""
        super().__init__(
            f"The arguments{of} were not accepted and nothing was run. {' '.join(problems)} "
            "Call it again with corrected arguments."
        )


class ToolRetry(ToolCallError):  # noqa: N818 - it asks for something rather than telling of a fault
    """Raised by a tool to have the model try again; `message` tells the model what to do differently."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class ToolFailed(ToolCallError):  # noqa: N818 - named like `ToolRetry`, beside which it stands in user code
    """Raised by a tool that cannot do what was asked; `message` tells the model why."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class ToolTimeoutError(ToolFailed):
    """A call took longer than `timeout_s`; what it had begun may still be going on."""

    def __init__(self, tool: str, timeout_s: float) -> None:
        self.tool = tool
        self.timeout_s = timeout_s
        super().__init__(
            f"{tool!r} gave no result within {timeout_s:g} s. What it began may still take effect."
        )


class ToolResultError(ToolSearchError, TypeError):
    """A tool returned what cannot be sent to a model; `tool` names it."""

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        who = f"Tool {tool!r}" if tool else "A tool"
        super().__init__(
            f"{who} returned {reason}. Return text, JSON-like values or a ToolResult, "
            "or give the tool a result_converter."
        )


class StoreError(ToolSearchError):
    """A file of conversations, sessions or calls that cannot be used; `path` names it."""

    def __init__(self, path: Path | str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"Store {str(path)!r} {reason}. Give another file, or mend this one.")


class EvaluationError(ToolSearchError, ValueError):
    """Queries, relevance judgments or a run that cannot be scored.

    Attributes:
        path, line: Where, for what was read from a file.
        ids: The queries or tools in question, as far as it is about some.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        ids: tuple[str, ...] = (),
    ) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        self.ids = ids
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{reason}")


class TuningError(ToolSearchError, ValueError):
    """An encoder that cannot be tuned as asked, or a tuned one that is no good."""
