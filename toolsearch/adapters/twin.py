"""`twin_of`: a client like another one, whose requests are answered with tool search.

Every method of every resource of the official clients comes down to the client's ``request``: that is what is
exchanged, so what a later version of a package adds cannot go past it. Only two things are not requests: the
keyword arguments that name a session, which ride in ``extra_body``, and connections over web sockets.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, cached_property, partial, wraps
from typing import Any

from toolsearch.adapters.asked import Asked
from toolsearch.adapters.caller import SESSION, TENANT
from toolsearch.adapters.rounds import answered, answered_async
from toolsearch.adapters.searching import Searching
from toolsearch.exceptions import UnsearchedToolsError

_SEARCHING = "_toolsearch"


def twin_of(client: Any, searching: Searching) -> Any:
    """A client of the same class and in the same state, over the same connections, that searches."""
    kind: Any = type(client)
    twin = _like(client, _client_class(kind))
    vars(twin)[_SEARCHING] = searching
    return twin


def is_twin(client: Any) -> bool:
    """Whether it searches already."""
    return hasattr(client, _SEARCHING)


def _like(client: Any, kind: Any) -> Any:
    other = object.__new__(kind)
    own = {
        name: value
        for name, value in vars(client).items()
        if not isinstance(inspect.getattr_static(type(client), name, None), cached_property)
    }
    vars(other).update(own)
    return other


@cache
def _client_class(base: Any) -> Any:
    answer = answered_async if inspect.iscoroutinefunction(base.request) else answered

    @wraps(base.request)
    def request(self: Any, cast_to: Any, options: Any, stream: bool = False, stream_cls: Any = None) -> Any:
        asked = Asked(self, partial(base.request, self), cast_to, options, stream, stream_cls)
        return answer(vars(self)[_SEARCHING], asked)

    @wraps(base.copy)
    def copy(self: Any, **options: Any) -> Any:
        plain = _like(self, base)
        return twin_of(base.copy(plain, **options), vars(self)[_SEARCHING])

    own = {"request": request, "copy": copy, "with_options": copy}
    # The helpers for conversations that Anthropic keeps then send whole ones.
    return _class_like(base, {**own, "_supports_message_threads": False})


@cache
def _resource_class(base: Any) -> Any:
    return _class_like(base, {})


def _class_like(base: Any, own: dict[str, Any]) -> Any:
    for name in dir(base):
        member = inspect.getattr_static(base, name)
        if name.startswith("_") or name in own:
            continue
        if isinstance(member, cached_property):
            own[name] = cached_property(partial(_resource, member.func))
        elif inspect.isfunction(member) and name == "connect":
            own[name] = _refused(member)
        elif inspect.isfunction(member) and _takes_tools(member):
            own[name] = _with_session(member)
    named = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
    return type(base.__name__, (base,), own | named)


def _takes_tools(method: Callable[..., Any]) -> bool:
    return inspect.signature(method).parameters.keys() >= {"tools", "extra_body"}


def _resource(get: Callable[[Any], Any], owner: Any) -> Any:
    resource = get(owner)
    if any(kind.__name__.endswith("APIResource") for kind in type(resource).__mro__):
        kind: Any = type(resource)
        resource.__class__ = _resource_class(kind)
    return resource


def _with_session(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        session = {name: options.pop(name) for name in (SESSION, TENANT) if name in options}
        if session:
            options["extra_body"] = {**(options.get("extra_body") or {}), **session}
        return method(self, *args, **options)

    return call


def _refused(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def connect(self: Any, *args: Any, **options: Any) -> Any:
        raise UnsearchedToolsError(method.__qualname__, "what goes over a web socket is not searched")

    return connect
