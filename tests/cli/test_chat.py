"""`toolsearch chat` against a server that speaks OpenAI's Chat Completions."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.fake_provider import Answer, Call, Failure, FakeProvider

Serve = Callable[..., tuple[FakeProvider, str]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves a script; gives the provider and the text for ``--model``."""
    ended: list[Callable[[], None]] = []

    def start(*steps: Any) -> tuple[FakeProvider, str]:
        provider = FakeProvider(steps)
        ready = threading.Event()
        stop: list[Callable[[], object]] = []
        url: list[str] = []

        async def run() -> None:
            over = asyncio.Event()
            loop = asyncio.get_running_loop()
            async with provider.serve() as base_url:
                url.append(base_url)
                stop.append(partial(loop.call_soon_threadsafe, over.set))
                ready.set()
                await over.wait()

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        assert ready.wait(10)

        def end() -> None:
            stop[0]()
            thread.join(10)

        ended.append(end)
        return provider, f"{url[0]}/v1#fake-1"

    yield start
    for end in ended:
        end()


def search(*queries: str) -> Answer:
    return Answer(calls=(Call("s1", "tool_search", json.dumps({"queries": queries})),))


def offered(provider: FakeProvider) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in body.get("tools", ())] for body in provider.bodies]


SCRIPT = (
    search("send an email"),
    Answer(calls=(Call("c1", "mail__send_email", '{"to": "ana@example.org"}'),)),
    Answer("Nothing was sent: a dry run."),
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of tools in the working directory."""
    (tmp_path / "my_own_tools.py").write_text(
        "from toolsearch import ToolFailed, tool\n"
        "@tool(source='mail')\n"
        "def send_email(to: str) -> str:\n"
        "    'Send an email to one or more people.'\n"
        "    return f'sent to {to}'\n"
        "def add(a: int, b: int) -> int:\n"
        "    'Add two numbers.'\n"
        "    return a + b\n"
        "@tool\n"
        "def boom(word: str = '') -> str:\n"
        "    'Break.'\n"
        "    raise KeyError('the safe') if not word else ToolFailed(f'No {word}.')\n"
        "many = [add, send_email]\n"
        "none = []\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_own_tools"
    sys.modules.pop("my_own_tools", None)


def test_an_answer_goes_to_standard_output_and_the_trace_beside_it(
    run: Run, serve: Serve, catalog: Path
) -> None:
    provider, model = serve(*SCRIPT)
    done = run("chat", catalog, "--model", model, "--once", "Write to Ana.", "--prices", "1000000,0")
    assert done.code == 0
    assert done.out == "Nothing was sent: a dry run.\n"
    first, found, second, call, dry, third, *receipt = done.err.splitlines()
    assert first.startswith("[round 1] offered tool_search: ")
    assert found.startswith("[search] 'send an email': mail__send_email ")
    assert "loaded mail__send_email" in found
    assert second.startswith("[round 2] offered tool_search, mail__send_email")
    assert call == "[call] mail__send_email {'to': 'ana@example.org'}"
    assert dry == "[call] mail__send_email was not run: not executable here (dry run)"
    assert third.startswith("[round 3] offered tool_search, mail__send_email")
    assert receipt[0].startswith("[receipt] 3 rounds, 1 search, 1 call; discovered mail__send_email")
    assert " tokens for tools instead of " in receipt[1]
    assert receipt[2] == (
        "[receipt] the provider counts 33 tokens in (27.3 % cached), 21 out: costs 33.000000"
    )
    assert offered(provider)[0] == ["tool_search"]
    assert offered(provider)[1][:2] == ["tool_search", "mail__send_email"]


def test_a_tool_that_nothing_runs_says_so_to_the_model(run: Run, serve: Serve, catalog: Path) -> None:
    provider, model = serve(*SCRIPT)
    run("chat", catalog, "--model", model, "--once", "Write to Ana.", "--quiet")
    result = provider.bodies[2]["messages"][-1]
    assert result["role"] == "tool"
    assert result["content"].startswith("[dry run] Not executable here: mail__send_email was called")


def test_json_has_answer_messages_and_receipt(run: Run, serve: Serve, index: Path) -> None:
    _, model = serve(*SCRIPT)
    done = run("chat", "-i", index, "--model", model, "--once", "Write to Ana.", "--json", "--quiet")
    told = done.json
    assert (told["answer"], told["finish_reason"]) == ("Nothing was sent: a dry run.", "stop")
    assert [message["role"] for message in told["messages"]] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    receipt = told["receipt"]
    assert receipt["discovered"][0] == "mail__send_email"
    assert receipt["usage"] == {"input_tokens": 33, "output_tokens": 21, "cached_tokens": 9}
    whole = sum(run("tokens", index.parent / "tools.jsonl", "--json").json[key] for key in ("tokens",))
    assert receipt["tokens_without_search"] == 3 * whole
    assert done.err == ""


def test_tools_of_python_run(run: Run, serve: Serve, catalog: Path, module: str) -> None:
    provider, model = serve(*SCRIPT[:2], Answer("Sent."))
    done = run("chat", catalog, "--model", model, "--once", "Write.", "--python", f"{module}:send_email")
    assert done.out == "Sent.\n"
    assert "dry run" not in done.err
    assert provider.bodies[2]["messages"][-1]["content"] == "sent to ana@example.org"


@pytest.mark.parametrize(
    ("names", "tools"),
    [
        ("", ["mail__send_email", "boom"]),
        (":add", ["add"]),
        (":many", ["add", "mail__send_email"]),
    ],
)
def test_tools_of_python_come_from_modules_functions_and_lists(
    run: Run, serve: Serve, module: str, names: str, tools: list[str]
) -> None:
    provider, model = serve(search(f"select:{','.join(tools)}"), Answer("Found."))
    assert run("chat", "--python", module + names, "--model", model, "--once", "Go.").code == 0
    assert offered(provider)[1] == ["tool_search", *tools]


LISTS = """
from toolsearch import tool
def add(a: int) -> int: return a
tools = [tool(add)]
_others = [tool(add, name="hidden")]
"""


@pytest.mark.parametrize(
    "reference", ["./lists/shop_lists.py", "lists/shop_lists.py:tools", "lists.shop_lists"]
)
def test_tools_of_python_come_from_files_and_the_lists_of_a_module(
    run: Run, serve: Serve, tmp_path: Path, module: str, reference: str
) -> None:
    del module
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "shop_lists.py").write_text(LISTS, encoding="utf-8")
    provider, model = serve(search("select:add"), Answer("Found."))
    assert run("chat", "--python", reference, "--model", model, "--once", "Go.").code == 0
    assert offered(provider)[1] == ["tool_search", "add"]


def test_a_file_is_not_taken_for_a_module_of_its_name(
    run: Run, serve: Serve, tmp_path: Path, module: str
) -> None:
    del module
    (tmp_path / "json.py").write_text(LISTS, encoding="utf-8")
    provider, model = serve(search("select:add"), Answer("Found."))
    assert run("chat", "--python", "json.py", "--model", model, "--once", "Go.").code == 0
    assert offered(provider)[1] == ["tool_search", "add"]


def test_a_call_that_fails_is_told_with_its_reason(run: Run, serve: Serve, module: str) -> None:
    """Once, also in the turns after it."""
    calls = ('{"word": "luck"}', "{}", '{"w": 1}', "{")
    _, model = serve(
        search("select:boom"),
        Answer(calls=tuple(Call(f"c{n}", "boom", arguments) for n, arguments in enumerate(calls))),
        Answer(calls=(Call("c9", "nowhere", "{}"),)),
        *(Answer("Sorry."), Answer("Yes.")),
    )
    done = run("chat", "--python", module, "--model", model, stdin="Go.\nReally?\n")
    failed = sorted(line for line in done.err.splitlines() if " failed: " in line)
    assert [line.partition(" failed: ")[2].partition(".")[0] for line in failed] == [
        "KeyError: 'the safe'",
        "The arguments of 'boom' were not accepted and nothing was run",
        "ToolArgumentsError: The arguments of 'boom' were not accepted and nothing was run",
        "ToolFailed: No luck",
        "There is no tool 'nowhere'",
    ]


def test_a_search_that_costs_more_than_it_spares_is_told(run: Run, serve: Serve, module: str) -> None:
    _, model = serve(search("select:add"), Answer("Found."))
    done = run("chat", "--python", f"{module}:add", "--model", model, "--once", "Go.")
    assert "(searching cost more than it spared)" in done.err
    assert "-" not in done.err.partition("tokens for tools")[2]


def test_tools_of_python_are_found_beside_an_index(run: Run, serve: Serve, index: Path, module: str) -> None:
    provider, model = serve(search("add two numbers"), Answer("Found."))
    run("chat", "-i", index, "--python", f"{module}:add", "--model", model, "--once", "Go.")
    assert "add" in offered(provider)[1]


def test_a_conversation_goes_on_until_the_input_ends(run: Run, serve: Serve, catalog: Path) -> None:
    provider, model = serve(Answer("Hello."), Answer("You said hi."))
    done = run("chat", catalog, "--model", model, "--quiet", stdin="hi\n\nwhat did I say?\n")
    assert (done.code, done.out, done.err) == (0, "Hello.\nYou said hi.\n", "")
    said = [message["content"] for message in provider.bodies[1]["messages"] if message["role"] != "system"]
    assert said == ["hi", "Hello.", "what did I say?"]


def test_what_was_found_stays_found_in_the_next_turn(run: Run, serve: Serve, catalog: Path) -> None:
    provider, model = serve(search("send an email"), Answer("Found."), Answer("Still there."))
    run("chat", catalog, "--model", model, stdin="find it\nagain\n")
    assert "mail__send_email" in offered(provider)[2]


def test_a_turn_that_fails_ends_no_conversation_but_a_single_answer(
    run: Run, serve: Serve, catalog: Path
) -> None:
    _, model = serve(Failure(400, "broken"), Answer("Better."))
    done = run("chat", catalog, "--model", model, stdin="hi\nhi\n")
    assert (done.code, done.out) == (0, "Better.\n")
    assert "Error: " in done.err
    assert "HTTP 400" in done.err
    _, model = serve(Failure(401, "who are you"))
    done = run("chat", catalog, "--model", model, "--once", "hi")
    assert (done.code, done.out) == (4, "")
    assert "HTTP 401" in done.err


def test_a_prompt_may_come_from_standard_input(run: Run, serve: Serve, catalog: Path) -> None:
    provider, model = serve(Answer("Hello."))
    run("chat", catalog, "--model", model, "--once", "-", stdin="Good\nday.")
    assert provider.bodies[0]["messages"][-1] == {"role": "user", "content": "Good\nday."}


def test_options_reach_the_router(run: Run, serve: Serve, catalog: Path) -> None:
    provider, model = serve(search("weather"), search("mail"))
    done = run(
        *("chat", catalog, "--model", model, "--once", "send an email", "--system", "Be kind."),
        *("--delivery", "bridge", "--preselect", 1, "--max-rounds", 2),
    )
    assert offered(provider) == [["tool_search", "call_tool"]] * 2
    system, user = provider.bodies[0]["messages"][:2]
    assert system["content"].startswith("Be kind.")
    assert "mail__send_email" in user["content"]
    assert done.out == "The limit of 2 rounds is reached.\n"
    assert "[end] limit" in done.err


def test_a_search_that_finds_nothing_is_told(run: Run, serve: Serve, catalog: Path) -> None:
    _, model = serve(search("zzz qqq"), Answer("No."))
    assert "[search] 'zzz qqq': nothing fits" in run("chat", catalog, "--model", model, "--once", "Go.").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "gpt-5"), "Unknown model 'gpt-5'"),
        (("--model", "https://example.org/v1"), "needs the name of a model"),
        (("--model", "ftp:x"), "Unknown model 'ftp:x'"),
        (("--model", "anthropic:claude", "--json"), "goes with --once"),
        (("--model", "anthropic:claude", "--prices", "1"), "IN,OUT"),
        (("--model", "anthropic:claude", "--prices", "a,b"), "IN,OUT"),
        (("--model", "anthropic:claude", "--prices", "1,-2"), "IN,OUT"),
        (("--model", "anthropic:claude", "--prices", "1,2,3,4"), "IN,OUT"),
        (("--model", "anthropic:claude", "--prices", "nan,1"), "IN,OUT"),
        (("--model", "anthropic:claude", "--prices", "1,2,inf"), "IN,OUT"),
        (("--model", "openai:gpt-5"), "set OPENAI_API_KEY to your key for openai"),
        (("--model", "openai-chat:gpt-5"), "set OPENAI_API_KEY to your key for openai"),
        (("--model", "anthropic:claude"), "set ANTHROPIC_API_KEY to your key for anthropic"),
        (("--model", "openai:gpt-5", "--python", "./no_such_file.py"), "does not exist"),
        (("--model", "openai:gpt-5", "--python", "no-module"), "give its name, such as 'shop'"),
        (("--model", "openai:gpt-5", "--python", "./shop"), "give its name, such as 'shop'"),
        (("--model", "openai:gpt-5", "--python", "my_own_tools:none"), "'my_own_tools:none' holds no tool"),
        (("--model", "openai:gpt-5", "--python", "plain_ones"), "or name one: plain_ones:add"),
        (("--model", "openai:gpt-5", "--python", "broken_ones"), "NameError: name 'lost' is not defined"),
        (("shop.py", "--model", "openai:gpt-5"), "'shop.py' is Python: give it with --python"),
        (("--model", "openai:gpt-5", "--python", "no_such_module_here"), "no_such_module_here"),
        (("--model", "openai-chat:gpt-5", "--python", "json:nothing"), "json:nothing"),
        (("--model", "openai:gpt-5", "--python", "json"), "holds no tool"),
    ],
)
def test_a_command_line_that_cannot_be_used_says_why(
    run: Run,
    catalog: Path,
    module: str,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    del module
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TOOLSEARCH_CHAT_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / "plain_ones.py").write_text("def add(a: int) -> int: return a\n", encoding="utf-8")
    (tmp_path / "broken_ones.py").write_text("lost\n", encoding="utf-8")
    done = run("chat", catalog, *arguments)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())


def test_some_tools_are_needed(run: Run) -> None:
    done = run("chat", "--model", "openai:gpt-5", "--once", "hi")
    assert done.code == 2
    assert "give a catalog" in done.err
