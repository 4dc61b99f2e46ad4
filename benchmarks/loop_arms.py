"""The arms of the loop benchmark: what a model is offered, each through the real advisors."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.loop_prompt import CACHED_PRICE, Piece, answer_tokens, cached_tokens, prompt_of
from benchmarks.loop_tasks import Task
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, RoundFinished, Usage
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.messages import AssistantMessage, ToolMessage, UserMessage
from toolsearch.retrieval.base import Retriever
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools import JsonObject, ToolContext

PRESELECTED = 10
MAX_ROUNDS = 12

ARMS = {
    "oracle": "only the relevant tools",
    "send-all": "every tool",
    "append": "tool search; what is found joins the tool list",
    "bridge": "tool search; what is found is called through call_tool",
    "native": "tool search of the provider, answered by ours",
    "preselect": f"append, with {PRESELECTED} tools found for the request before the first round",
}


@dataclass(frozen=True)
class Bench:
    """A catalog whose tools answer in one word, and what searches it."""

    catalog: Catalog
    searcher: Retriever

    @classmethod
    def of(cls, catalog: Catalog, searcher: Retriever) -> Bench:
        return cls(Catalog(replace(tool, call=_answer) for tool in catalog.values()), searcher)

    def chain(self, arm: str, task: Task, model: ChatModel) -> AdvisorChain:
        """The advisors of an arm around `model`."""
        loop = ToolCallingAdvisor(limits=LoopLimits(rounds=MAX_ROUNDS))
        match arm:
            case "oracle":
                relevant = dict.fromkeys(name for need in task.needs for name in need)
                return AdvisorChain(model, [loop], tools=[self.catalog[name] for name in relevant])
            case "send-all":
                return AdvisorChain(model, [loop], tools=list(self.catalog.values()))
            case "append" | "bridge" | "native":
                return AdvisorChain(model, [loop, self._advisor(delivery=arm)])
            case "preselect":
                return AdvisorChain(model, [loop, self._advisor(delivery="append", preselect=PRESELECTED)])
        raise ValueError(f"There is no arm {arm!r}; there are {', '.join(ARMS)}.")

    def _advisor(self, **settings: object) -> Advisor:
        return ToolSearchAdvisor(self.searcher, self.catalog, **settings)  # type: ignore[arg-type]


@dataclass
class Recorder:
    """A chat model that keeps what it was sent and what it answered."""

    model: ChatModel
    prompts: list[tuple[Piece, ...]] = field(default_factory=list)
    answers: list[AssistantMessage] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def native_search(self) -> bool:
        return self.model.native_search

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.prompts.append(prompt_of(request))
        response = await self.model.complete(request)
        self.answers.append(response.message)
        return response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        yield RoundFinished(await self.complete(request))


@dataclass(frozen=True)
class Outcome:
    """What one task came to.

    Attributes:
        met: For each need, whether a tool that does it was called.
        wrong_calls: Calls of tools that no need asks for, those that failed included.
        tokens: Tokens that were read, over all rounds, by kind of piece; and ``output``.
        cached: Of those that were read, how many the run itself had put into the prompt cache.
        cached_warm: The same where runs of other requests have gone before.
        usage: What the model itself reports; zeros from a scripted one.
    """

    met: tuple[bool, ...]
    wrong_calls: int
    rounds: int
    searches: int
    tokens: Mapping[str, int]
    cached: int
    cached_warm: int
    usage: Usage

    @property
    def is_resolved(self) -> bool:
        return all(self.met)

    @property
    def all_tokens(self) -> int:
        """Tokens read in all rounds, and tokens written."""
        return sum(self.tokens.values())

    def cost(self, *, warm: bool) -> float:
        """Tokens read, one from the cache counting for a tenth, and tokens written."""
        cached = self.cached_warm if warm else self.cached
        return self.all_tokens - (1 - CACHED_PRICE) * cached


async def run_task(
    bench: Bench, arm: str, task: Task, model_for: Callable[[Task], ChatModel], *, after: Task
) -> Outcome:
    """One task in one arm, through the loop; the prompt cache is warm from the request of `after`."""
    recorder = Recorder(model_for(task))
    chain = bench.chain(arm, task, recorder)
    response = await chain.call(_request(task))
    results = [m for m in response.metadata["messages"] if isinstance(m, ToolMessage)]
    called = [m.name for m in results if m.name != SEARCH_TOOL and not m.is_error]
    failed = sum(m.is_error and m.name != SEARCH_TOOL for m in results)
    wanted = {name for need in task.needs for name in need}
    tokens = {"definitions": 0, "search": 0, "conversation": 0}
    for prompt in recorder.prompts:
        for piece in prompt:
            tokens[piece.kind] += piece.tokens
    tokens["output"] = sum(map(answer_tokens, recorder.answers))
    prompts = recorder.prompts
    before = await _first_prompt(bench, arm, after)
    return Outcome(
        met=tuple(bool(set(need) & set(called)) for need in task.needs),
        wrong_calls=sum(name not in wanted for name in called) + failed,
        rounds=len(prompts),
        searches=sum(m.name == SEARCH_TOOL for m in results),
        tokens=tokens,
        cached=sum(cached_tokens(prompt, prompts[:i]) for i, prompt in enumerate(prompts)),
        cached_warm=sum(cached_tokens(p, [before, *prompts[:i]]) for i, p in enumerate(prompts)),
        usage=response.usage,
    )


async def _first_prompt(bench: Bench, arm: str, task: Task) -> tuple[Piece, ...]:
    """What a model is sent first for a task."""
    recorder = Recorder(ScriptedChatModel(["Done."], native_search=True, strict=False))
    await bench.chain(arm, task, recorder).call(_request(task))
    return recorder.prompts[0]


def _request(task: Task) -> ChatRequest:
    return ChatRequest((UserMessage.of(task.text),), context={"session_id": uuid.uuid4().hex})


async def _answer(arguments: JsonObject, context: ToolContext) -> str:
    del arguments, context
    return "Done."
