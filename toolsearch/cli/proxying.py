"""Options of `toolsearch serve` for the proxies in front of providers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

C = TypeVar("C", bound=Callable[..., None])

_OPTIONS: dict[str, tuple[Any, str, str]] = {
    # Setting: type, metavar, help.
    "proxy": (bool | None, "", "Stand in front of OpenAI and Anthropic; off."),
    "openai_upstream": (str | None, "URL", "Stand in front of this API, such as https://api.openai.com/v1."),
    "anthropic_upstream": (
        str | None,
        "URL",
        "Stand in front of this one, such as https://api.anthropic.com.",
    ),
    "proxy_timeout_s": (float | None, "S", "Seconds for an answer to begin, and for each next byte; 600."),
    "proxy_connect_s": (float | None, "S", "Seconds in which a provider must be reached; 10."),
    "proxy_retries": (int | None, "N", "How often to ask again after 429, 5xx or no connection; 2."),
    "proxy_retry_wait_s": (float | None, "S", "The longest wait before that; 20."),
    "proxy_max_rounds": (int | None, "N", "Search rounds within one request; 10."),
    "proxy_max_body_bytes": (int | None, "N", "Of a request to a model; 64 MiB."),
    "proxy_max_running": (int | None, "N", "Requests that wait for providers at once; 256."),
    "proxy_whole_below_tokens": (int | None, "N", "Tools that cost fewer tokens go out as they came; 4000."),
    "proxy_max_tools": (int | None, "N", "Tools that a round sends; 128."),
    "proxy_delivery": (str | None, "WAY", "append; or native, where form and model have it."),
    "proxy_catalog": (bool | None, "", "Search the catalog for requests without tools; off."),
    "proxy_pin": (list[str] | None, "GLOB", "A tool that is always sent."),
    "proxy_model": (
        list[str] | None,
        "RULE",
        "A model that may be asked (name or glob), or ALIAS=NAME; any.",
    ),
    "proxy_drop_member": (list[str] | None, "GLOB", "A member of requests to models that stays here."),
    "proxy_set_member": (list[str] | None, "NAME=JSON", "A member that such requests get."),
    "proxy_drop_header": (list[str] | None, "GLOB", "A header of requests that stays here."),
    "proxy_only_header": (list[str] | None, "GLOB", "A header of requests that goes on; all without it."),
    "proxy_tool_lists": (int | None, "N", "Lists of tools kept for each tenant; 16."),
    "proxy_exchanges": (int | None, "N", "Search exchanges kept for each tenant; 2000."),
}


def with_proxy_options(command: C) -> C:
    """`command`, whose argument `proxies` gets the settings that these options give."""
    own = inspect.signature(command, eval_str=True)
    kept = [parameter for name, parameter in own.parameters.items() if name != "proxies"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _annotations().items()
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        proxies = {name: given.pop(name) for name in _OPTIONS}
        command(**given, proxies=proxies)

    vars(run)["__signature__"] = own.replace(parameters=[*kept, *added])
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *added)}
    del run.__wrapped__  # its signature would be taken for this one's
    return run  # type: ignore[return-value]


def _annotations() -> dict[str, Any]:
    return {
        name: Annotated[kind, _option(name, metavar, told)]
        for name, (kind, metavar, told) in _OPTIONS.items()
    }


def _option(name: str, metavar: str, help: str) -> Any:  # noqa: A002
    flag = f"--{name.replace('_', '-')}"
    return typer.Option(
        flag if metavar else f"{flag}/--no-{flag[2:]}",
        envvar=f"TOOLSEARCH_SERVER_{name.upper()}",
        metavar=metavar or None,
        help=help,
        show_default=False,
        rich_help_panel="Proxies",
    )
