"""A server of the standard library alone, which does whatever a test wants it to do wrong.

``python scripted.py '{"tools": [...], ...}'``. The keys of its script:

tools: What it lists; names that are in `DEEDS` do what they say, others answer with their arguments.
generate: How many tools it lists beside them.
schema: The input schema of those.
huge: It lists a tool with a description of a megabyte, 2,000 properties and a schema of 500 levels.
deep: It lists tools `deep90` and so on, with schemas of so many levels.
grow: Each listing has one tool more.
per_page: How many tools a page has.
loop: The last page leads back to the second one.
noise: Print lines that are no messages before, between and after messages.
silent: A method that is never answered.
deaf: Go on after standard input has ended.
child: Start a process that keeps standard output open.
refuse: A method that is answered with an error.
hold_first_list: The first listing is answered after the second.
prompts, resources: What it lists beside tools; each prompt and each resource says its name.
logging: It logs, and knows the level that it was set to.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Deed = Callable[[Any, Any], Any]
SCRIPT = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
LOCK = threading.Lock()
CANCELLED: list[Any] = []
GENERATED = [
    {"name": f"t{number}", "description": "", "inputSchema": SCRIPT.get("schema", {"type": "object"})}
    for number in range(SCRIPT.get("generate", 0))
]
STATE: dict[str, Any] = {"tools": SCRIPT.get("tools", []) + GENERATED, "held": None, "lists": 0}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


sys.setrecursionlimit(50_000)
STATE["tools"] += [{"name": f"deep{n}", "inputSchema": nested(n)} for n in SCRIPT.get("deep", ())]

if SCRIPT.get("huge"):
    DEEP = nested(500)
    WIDE = {f"p{number}": {"type": "string"} for number in range(2000)}
    SCHEMAS = {"long": {"type": "object"}, "wide": {"type": "object", "properties": WIDE}, "deep": DEEP}
    STATE["tools"] += [
        {"name": name, "description": "word " * (200_000 if name == "long" else 1), "inputSchema": schema}
        for name, schema in SCHEMAS.items()
    ]


def send(message: dict[str, Any]) -> None:
    with LOCK:
        if SCRIPT.get("noise"):
            sys.stdout.write("[db] Connected\n- ready\n")
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        if SCRIPT.get("noise"):
            sys.stdout.write("{not json\n")
        sys.stdout.flush()


def text(value: Any, **more: Any) -> dict[str, Any]:
    said = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": said}], **more}


def die(arguments: Any, request: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def charge(arguments: Any, request: Any) -> Any:
    with Path(arguments["file"]).open("a") as file:
        file.write("1")
    os._exit(3)


def hang(arguments: Any, request: Any) -> Any:
    return None


def progress(arguments: Any, request: Any) -> Any:
    token = request["params"]["_meta"]["progressToken"]

    def work() -> None:
        for step in range(arguments["steps"]):
            time.sleep(arguments["every_s"])
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
        if not arguments.get("endless"):
            send({"id": request["id"], "result": text("done")})

    threading.Thread(target=work, daemon=True).start()


def change(arguments: Any, request: Any) -> Any:
    STATE["tools"] = arguments["tools"]
    send({"method": "notifications/tools/list_changed"})
    return text("changed")


def relabel(arguments: Any, request: Any) -> Any:
    """Lists other prompts or resources from now on."""
    STATE.update(arguments)
    for kind in arguments:
        send({"method": f"notifications/{kind}/list_changed"})
    return text("changed")


def later(arguments: Any, request: Any) -> Any:
    """Answers only once the tools have been listed again."""
    STATE["later"] = request["id"]
    STATE["tools"] = arguments["tools"]
    send({"method": "notifications/tools/list_changed"})


def big(arguments: Any, request: Any) -> Any:
    return text(arguments["unit"] * arguments["times"])


def raw(arguments: Any, request: Any) -> Any:
    return arguments["result"]


def surrogate(arguments: Any, request: Any) -> Any:
    with LOCK:
        result = '{"content":[{"type":"text","text":"a\\ud800b"}]}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{result}}}\n')
        sys.stdout.flush()


def error(arguments: Any, request: Any) -> Any:
    send({"id": request["id"], "error": {"code": arguments["code"], "message": arguments["message"]}})


def complain(arguments: Any, request: Any) -> Any:
    sys.stderr.write(arguments["text"] + "\n")
    sys.stderr.flush()
    return text("complained")


def log(arguments: Any, request: Any) -> Any:
    send({"method": "notifications/message", "params": arguments})
    return text("logged")


def meta(arguments: Any, request: Any) -> Any:
    return text(request["params"].get("_meta", {}))


def ask(arguments: Any, request: Any) -> Any:
    """Asks the client for something, and answers with its reply."""
    STATE["asking"] = request["id"]
    send({"id": "question", **arguments})


DEEDS: dict[str, Deed] = {
    "ask": ask,
    "able": lambda arguments, request: text(STATE["able"]),
    "die": die,
    "charge": charge,
    "hang": hang,
    "progress": progress,
    "change": change,
    "relabel": relabel,
    "later": later,
    "big": big,
    "raw": raw,
    "surrogate": surrogate,
    "error": error,
    "complain": complain,
    "log": log,
    "level": lambda arguments, request: text(STATE.get("level", "")),
    "meta": meta,
    "cancelled": lambda arguments, request: text(CANCELLED),
    "pid": lambda arguments, request: text(str(os.getpid())),
    "env": lambda arguments, request: text(dict(os.environ)),
    "name": lambda arguments, request: text(request["params"]["name"]),
}


def listed(params: Any) -> dict[str, Any]:
    tools = STATE["tools"]
    per_page = SCRIPT.get("per_page", len(tools) or 1)
    start = int((params or {}).get("cursor", "at 0").split()[1])
    page = {"tools": tools[start : start + per_page]}
    if start + per_page < len(tools):
        page["nextCursor"] = f"at {start + per_page}"
    elif SCRIPT.get("loop"):
        page["nextCursor"] = f"at {per_page}"
    return page


def answer(request: Any) -> None:
    method = request["method"]
    result: Any
    if method == SCRIPT.get("silent"):
        return
    if method == SCRIPT.get("refuse"):
        send({"id": request["id"], "error": {"code": -32000, "message": "not today"}})
        return
    if method == "initialize":
        STATE["able"] = request["params"]["capabilities"]
        result = {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {
                "tools": {"listChanged": True},
                **({"logging": {}} if SCRIPT.get("logging") else {}),
                **{kind: {} for kind in ("prompts", "resources") if kind in SCRIPT},
            },
            "serverInfo": {"name": "scripted", "version": "1"},
        }
    elif method == "logging/setLevel" and SCRIPT.get("logging"):
        STATE["level"] = request["params"]["level"]
        result = {}
    elif method in {"prompts/list", "resources/list"} and method.partition("/")[0] in SCRIPT:
        kind = method.partition("/")[0]
        result = {kind: STATE.get(kind, SCRIPT[kind])}
    elif method == "prompts/get" and "prompts" in SCRIPT:
        content = {"type": "text", "text": request["params"]["name"]}
        result = {"messages": [{"role": "user", "content": content}]}
    elif method == "resources/read" and "resources" in SCRIPT:
        result = {"contents": [{"uri": request["params"]["uri"], "text": "read"}]}
    elif method == "tools/list":
        STATE["lists"] += 1
        if SCRIPT.get("grow"):
            name = f"more{STATE['lists']}"
            STATE["tools"].append({"name": name, "inputSchema": {"type": "object"}})
        result = listed(request.get("params"))
        if SCRIPT.get("hold_first_list") and STATE["lists"] == 1:
            STATE["held"] = (request["id"], result)
            STATE["tools"] = SCRIPT["hold_first_list"]
            send({"method": "notifications/tools/list_changed"})
            return
    elif method == "tools/call":
        params = request["params"]
        deed: Deed = DEEDS.get(params["name"], lambda arguments, request: text(arguments))
        if not any(isinstance(t, dict) and t.get("name") == params["name"] for t in STATE["tools"]):
            result = text(f"Unknown tool: {params['name']}", isError=True)
        else:
            result = deed(params.get("arguments") or {}, request)
        if result is None:
            return
    else:
        send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        return
    send({"id": request["id"], "result": result})
    if method == "tools/list" and STATE["held"] and STATE["lists"] > 1:
        request_id, held = STATE["held"]
        STATE["held"] = None
        send({"id": request_id, "result": held})
    if method == "tools/list" and "later" in STATE:
        send({"id": STATE.pop("later"), "result": text("at last")})


def main() -> None:
    if SCRIPT.get("child"):
        subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    if SCRIPT.get("noise"):
        print("Starting up", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            CANCELLED.append(message["params"]["requestId"])
        elif "id" in message and "method" in message:
            answer(message)
        elif message.get("id") == "question":
            send({"id": STATE.pop("asking"), "result": text(message.get("result", message.get("error")))})
    while SCRIPT.get("deaf"):
        time.sleep(1000)


main()
