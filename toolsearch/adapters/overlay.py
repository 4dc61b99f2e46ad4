"""`Overlay`: an object with some attributes of its own, and all others of another one."""

from __future__ import annotations

from typing import Any


class Overlay:
    """Looks like `target`, also to ``isinstance``, except for the attributes in `own`."""

    def __init__(self, target: Any, **own: Any) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_own", own)

    @property  # type: ignore[misc]  # read by isinstance
    def __class__(self) -> Any:
        return type(self._target)

    def __getattr__(self, name: str) -> Any:
        own = object.__getattribute__(self, "_own")
        return own[name] if name in own else getattr(object.__getattribute__(self, "_target"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._target), *self._own})

    def __repr__(self) -> str:
        return repr(self._target)
