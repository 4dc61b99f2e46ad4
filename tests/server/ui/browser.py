"""A headless Chromium, driven by its DevTools protocol: https://chromedevtools.github.io/devtools-protocol/."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from websockets.sync.client import connect
from websockets.sync.connection import Connection

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = "needs Chromium (apt-get install chromium), on the PATH or named by CHROMIUM"

_WAIT_S = 150.0
_LEFT_AT_MOST = 5
_GONE = ("navigated or closed", "context was destroyed", "Cannot find context")


class PageLeftError(AssertionError):
    """The page went to another address, or began anew, before it could answer."""


_SWITCHES = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--lang=en-US",
    "about:blank",
)
_KEYS: dict[str, dict[str, Any]] = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Escape": {"code": "Escape", "windowsVirtualKeyCode": 27},
    "ArrowDown": {"code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "ArrowUp": {"code": "ArrowUp", "windowsVirtualKeyCode": 38},
    "Home": {"code": "Home", "windowsVirtualKeyCode": 36},
    "End": {"code": "End", "windowsVirtualKeyCode": 35},
    "/": {"code": "Slash", "windowsVirtualKeyCode": 191, "text": "/"},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}
_SHIFT = 8


def chromium() -> str | None:
    """The path of a Chromium; None where there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser of its own, with nothing of any user in it.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    path = chromium()
    if path is None:
        raise FileNotFoundError(f"This {MISSING}.")
    sandbox = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with TemporaryDirectory(prefix="toolsearch-chromium-", ignore_cleanup_errors=True) as folder:
        command = [path, f"--user-data-dir={folder}", *sandbox, *_SWITCHES]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment(folder)
        )
        try:
            with connect(_address(process), max_size=None, ping_interval=None) as connection:
                yield Browser(connection)
        finally:
            process.terminate()
            process.communicate(timeout=30)


@dataclass
class Browser:
    """Opens pages; `events` are those that nobody has looked at."""

    connection: Connection
    pages: dict[str, Page] = field(default_factory=dict)
    _sent: int = 0

    @contextmanager
    def page(self, *, width: int = 1280, height: int = 900, scheme: Scheme = "light") -> Iterator[Page]:
        """An empty page which shares nothing with others."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        page.resize(width, height)
        page.prefer(scheme)
        try:
            yield page
        finally:
            del self.pages[session]
            self.send("Target.disposeBrowserContext", browserContextId=context)

    def send(self, method: str, *, session: str = "", **parameters: Any) -> Any:
        """The result of a command.

        Raises:
            AssertionError: the browser refuses it.
        """
        self._sent += 1
        command = {"id": self._sent, "method": method, "params": parameters}
        self.connection.send(json.dumps(command | ({"sessionId": session} if session else {})))
        while True:
            message = json.loads(self.connection.recv(timeout=_WAIT_S))
            if message.get("id") == self._sent:
                error = message.get("error")
                if error and any(sign in error["message"] for sign in _GONE):
                    raise PageLeftError(error["message"])
                assert not error, (method, error)
                return message["result"]
            page = self.pages.get(message.get("sessionId", ""))
            if page is not None and "method" in message:
                page.told(message["method"], message["params"])


Scheme = Literal["light", "dark"]


@dataclass
class Page:
    """A page, and what it said.

    Attributes:
        errors: Exceptions, and errors and warnings of the console, policies that were broken included.
        refused: Requests that were answered with an error, or not at all.
        requested: Addresses that were asked.
    """

    browser: Browser
    session: str
    errors: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def send(self, method: str, **parameters: Any) -> Any:
        return self.browser.send(method, session=self.session, **parameters)

    def told(self, method: str, said: dict[str, Any]) -> None:
        match method:
            case "Runtime.exceptionThrown":
                details = said["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if said["type"] in {"error", "warning", "assert"}:
                self.errors.append(str([each.get("value") for each in said["args"]]))
            case "Log.entryAdded" if said["entry"]["level"] in {"error", "warning"}:
                entry = said["entry"]
                where = self.refused if entry["source"] == "network" else self.errors
                where.append(f"{entry['text']} {entry.get('url', '')}")
            case "Network.requestWillBeSent":
                self.requested.append(said["request"]["url"])

    def open(self, url: str) -> None:
        """Go to an address; one that differs behind the # alone stays on the page."""
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression, which may be a promise.

        Raises:
            AssertionError: it throws.
        """
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, (script, result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Returns once an expression is true, which it is asked after each frame, of the next page too.

        Raises:
            AssertionError: it never was.
        """
        script = f"""new Promise((resolve) => {{
          const end = performance.now() + {_WAIT_S * 400:.0f};
          const ask = () => {{
            let holds = false;
            try {{ holds = Boolean({condition}); }} catch {{ holds = false; }}
            if (holds || performance.now() > end) resolve(holds); else setTimeout(ask, 15);
          }};
          ask();
        }})"""
        for _ in range(_LEFT_AT_MOST):
            try:
                holds = self.run(script)
            except PageLeftError:
                continue
            assert holds, (condition, self.errors, self.text("main"))
            return
        raise AssertionError(f"The page was left while {condition} was waited for.")

    def text(self, selector: str) -> str:
        """What a reader sees of an element; empty where there is none."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def texts(self, selector: str) -> list[str]:
        """What a reader sees of each of some elements."""
        found: list[str] = self.run(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.innerText)"
        )
        return found

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def choose(self, selector: str, value: str) -> None:
        """Choose an option, as a person does."""
        self.run(
            f"(() => {{ const select = document.querySelector({json.dumps(selector)});"
            f" select.value = {json.dumps(value)};"
            " select.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )

    def press(self, *keys: str) -> None:
        """Press keys one after the other; ``Shift+`` may stand before one."""
        for name in keys:
            key = name.removeprefix("Shift+")
            facts = {"key": key, "modifiers": _SHIFT if key != name else 0, **_KEYS[key]}
            self.send("Input.dispatchKeyEvent", type="keyDown", **facts)
            self.send("Input.dispatchKeyEvent", type="keyUp", **{**facts, "text": ""})

    def type(self, text: str) -> None:
        """Put a text where the focus is."""
        self.send("Input.insertText", text=text)

    def resize(self, width: int, height: int, *, scale: float = 1) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    def prefer(self, scheme: Scheme) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def png(self) -> bytes:
        """A picture of what is seen."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        found = re.search(r"DevTools listening on (ws://\S+)", line)
        if found:
            return found[1]
        said.append(line)
    raise AssertionError(f"Chromium did not start: {''.join(said)[-2000:]}")


def _environment(folder: str) -> dict[str, str]:
    """Nothing outside of `folder` is written; no proxy stands before this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "HOME": folder, "XDG_CONFIG_HOME": str(Path(folder, "config"))}
