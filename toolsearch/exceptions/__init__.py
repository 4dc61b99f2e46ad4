"""Every error that `toolsearch` raises on purpose.

ToolSearchError
├── DefinitionError               a tool definition that cannot be used
│   ├── SchemaError               its input schema is not a usable JSON Schema
│   ├── ParameterError            a parameter of a function that no schema can describe
│   │   └── UnresolvedTypeError   its annotation names a type that does not exist, perhaps only not yet
│   ├── ReservedNameError         its name belongs to a built-in tool
│   └── DuplicateToolError        two tools with one public name
├── CatalogFileError              a catalog file that cannot be read
├── AddressRefusedError           a request to where none may go
├── UnknownToolError              a name that the catalog does not have
├── SearchRequestError            a search that cannot be answered as asked
├── EmbeddingError                an embedder failed, or answered nonsense
│   ├── EmbedderUnavailableError  an embedder that cannot be loaded or reached
│   ├── RequestTooLargeError      an embedding service refuses so much text at once
│   ├── DimensionMismatchError    vectors of another length than expected
│   └── EmbeddingCacheError       the vectors kept on disk cannot be used
├── RerankerError                 a reranker cannot be loaded, failed, or answered nonsense
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
│       ├── ToolTimeoutError      it took longer than it may
│       └── McpCallError          its MCP server gave no result
├── McpError                      something about an MCP server, which it names
│   ├── McpConfigError            a configuration that cannot be used
│   ├── McpConnectionError        a server that cannot be started or reached
│   ├── McpProtocolError          it answered what nobody could use
│   ├── McpRequestError           it refused a request
│   └── McpLostError              no answer came to a request that was sent
├── ToolResultError               a tool returned what cannot be sent to a model
├── TrustError                    a trust file that cannot be used, or not as asked
├── ServerSettingsError           settings that the HTTP service cannot start with
├── RequestRefusedError           a request that the HTTP service does not carry out
│   ├── AccessDeniedError         no key, or one that may not do this
│   ├── ForeignRequestError       for another host, or from a page that may not ask
│   ├── NoSuchPathError           there is nothing at its path
│   ├── WrongMethodError          its path takes other methods
│   ├── MediaTypeError            its body does not say that it is JSON
│   ├── NotJsonError              its body is not JSON
│   ├── InvalidRequestError       it is not of its form
│   ├── BodyTooLargeError         too much at once
│   ├── SlowRequestError          its body did not come in time
│   ├── UnknownResourceError      there is no such thing for this caller
│   ├── PreconditionError         what it would change is no longer what the caller has seen
│   ├── UploadRefusedError        a replacement of which a part cannot be used
│   ├── IdempotencyError          its idempotency key belongs to another request
│   ├── TooBusyError              more than the service takes at once
│   ├── TookTooLongError          it had no answer in time
│   ├── NotCallableError          a tool that the service cannot run, or a session not yet
│   ├── NotReadyError             the service cannot search yet, or no longer
│   └── UpstreamError             the provider behind a proxy gave nothing to pass on
├── ServiceError                  the HTTP service refused a request of its client, or failed
│   └── ServiceUnreachableError   no connection, or one that broke
├── StoreError                    a file of conversations, sessions or calls that cannot be used
├── DatabaseError                 a PostgreSQL database that cannot be used
│   ├── DatabaseUnreachableError  it does not answer, or not in time
│   └── SchemaVersionError        its tables are those of another release
├── CatalogChangedError           a stored catalog that somebody else has changed meanwhile
├── EvaluationError               queries, qrels or a run that cannot be scored
└── TuningError                   an encoder that cannot be tuned as asked
"""

from toolsearch.exceptions.base import (
    ToolSearchError,
)
from toolsearch.exceptions.chat import (
    AuthenticationError,
    BadRequestError,
    ChatModelError,
    ChatRequestError,
    ContextTooLongError,
    MalformedAnswerError,
    ModelUnreachableError,
    OverloadedError,
    RateLimitedError,
    RequestProblem,
)
from toolsearch.exceptions.database import (
    CatalogChangedError,
    DatabaseError,
    DatabaseUnreachableError,
    SchemaVersionError,
)
from toolsearch.exceptions.http import AddressRefusedError
from toolsearch.exceptions.loop import (
    AnswerFormatError,
    ChainError,
    LimitExceededError,
    PausedRunError,
    RunningLoopError,
    StoreError,
    ToolLimitError,
    UnsearchedToolsError,
)
from toolsearch.exceptions.mcp import (
    McpCallError,
    McpConfigError,
    McpConnectionError,
    McpError,
    McpLostError,
    McpProtocolError,
    McpRequestError,
)
from toolsearch.exceptions.retrieval import (
    DimensionMismatchError,
    EmbedderUnavailableError,
    EmbeddingCacheError,
    EmbeddingError,
    EvaluationError,
    IndexDamagedError,
    IndexFormatError,
    IndexLockedError,
    IndexMismatchError,
    IndexNotFoundError,
    RequestTooLargeError,
    RerankerError,
    SearchRequestError,
    TokenizerError,
    ToolIndexError,
    TuningError,
)
from toolsearch.exceptions.server import (
    AccessDeniedError,
    BodyTooLargeError,
    ForeignRequestError,
    IdempotencyError,
    InvalidRequestError,
    MediaTypeError,
    NoSuchPathError,
    NotCallableError,
    NotJsonError,
    NotReadyError,
    PreconditionError,
    RequestRefusedError,
    ServerSettingsError,
    ServiceError,
    ServiceUnreachableError,
    SlowRequestError,
    TooBusyError,
    TookTooLongError,
    UnknownResourceError,
    UploadRefusedError,
    UpstreamError,
    WrongMethodError,
)
from toolsearch.exceptions.tools import (
    CatalogFileError,
    DefinitionError,
    DuplicateToolError,
    ParameterError,
    ReservedNameError,
    SchemaError,
    ToolArgumentsError,
    ToolCallError,
    ToolFailed,
    ToolResultError,
    ToolRetry,
    ToolTimeoutError,
    UnknownToolError,
    UnresolvedTypeError,
)
from toolsearch.exceptions.trust import (
    TrustError,
)

__all__ = [
    "AccessDeniedError",
    "AddressRefusedError",
    "AnswerFormatError",
    "AuthenticationError",
    "BadRequestError",
    "BodyTooLargeError",
    "CatalogChangedError",
    "CatalogFileError",
    "ChainError",
    "ChatModelError",
    "ChatRequestError",
    "ContextTooLongError",
    "DatabaseError",
    "DatabaseUnreachableError",
    "DefinitionError",
    "DimensionMismatchError",
    "DuplicateToolError",
    "EmbedderUnavailableError",
    "EmbeddingCacheError",
    "EmbeddingError",
    "EvaluationError",
    "ForeignRequestError",
    "IdempotencyError",
    "IndexDamagedError",
    "IndexFormatError",
    "IndexLockedError",
    "IndexMismatchError",
    "IndexNotFoundError",
    "InvalidRequestError",
    "LimitExceededError",
    "MalformedAnswerError",
    "McpCallError",
    "McpConfigError",
    "McpConnectionError",
    "McpError",
    "McpLostError",
    "McpProtocolError",
    "McpRequestError",
    "MediaTypeError",
    "ModelUnreachableError",
    "NoSuchPathError",
    "NotCallableError",
    "NotJsonError",
    "NotReadyError",
    "OverloadedError",
    "ParameterError",
    "PausedRunError",
    "PreconditionError",
    "RateLimitedError",
    "RequestProblem",
    "RequestRefusedError",
    "RequestTooLargeError",
    "RerankerError",
    "ReservedNameError",
    "RunningLoopError",
    "SchemaError",
    "SchemaVersionError",
    "SearchRequestError",
    "ServerSettingsError",
    "ServiceError",
    "ServiceUnreachableError",
    "SlowRequestError",
    "StoreError",
    "TokenizerError",
    "TooBusyError",
    "TookTooLongError",
    "ToolArgumentsError",
    "ToolCallError",
    "ToolFailed",
    "ToolIndexError",
    "ToolLimitError",
    "ToolResultError",
    "ToolRetry",
    "ToolSearchError",
    "ToolTimeoutError",
    "TrustError",
    "TuningError",
    "UnknownResourceError",
    "UnknownToolError",
    "UnresolvedTypeError",
    "UnsearchedToolsError",
    "UploadRefusedError",
    "UpstreamError",
    "WrongMethodError",
]

for _name in __all__:  # where they are imported from, in tracebacks, logs and pickles
    globals()[_name].__module__ = __name__
del _name
