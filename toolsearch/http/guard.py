"""Where requests may go: hosts by name, and the addresses that a name may stand for."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from toolsearch.checks import check_collection
from toolsearch.exceptions import AddressRefusedError

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ANY_PORT = -1
_NAME = re.compile(r"[a-z0-9_.:-]+")


class AddressRules:
    """Which hosts may be asked, and at which addresses.

    A host is written ``api.example.com`` for ports 80 and 443, ``api.example.com:8080`` for another one,
    ``api.example.com:*`` for any. ``*.example.com`` stands for every name below, and an IPv6 address has
    brackets where a port follows: ``[::1]:8080``.

    Only public addresses may be connected to, whatever a name resolves to: not this machine, not a private
    network, not a link-local address such as those of cloud metadata, and none that hides such a one within
    IPv6. `private` names the hosts that may be elsewhere; link-local addresses have to be written there as
    they are, for no name stands for them.
    """

    def __init__(self, hosts: Iterable[str] | None, *, private: Iterable[str] = ()) -> None:
        """Checked here; nothing is resolved.

        Args:
            hosts: Those that may be asked; None for all that are public.
            private: More of them, which need not be public.

        Raises:
            TypeError: no collection of texts.
            ValueError: a text that names no host.
        """
        check_collection("private", private)
        if hosts is not None:
            check_collection("hosts", hosts)
        self._private = tuple(map(_Host.read, private))
        self._hosts = None if hosts is None else (*map(_Host.read, hosts), *self._private)

    def __repr__(self) -> str:
        hosts = "None" if self._hosts is None else f"[{', '.join(map(str, self._hosts))}]"
        return f"AddressRules({hosts}, private=[{', '.join(map(str, self._private))}])"

    def check(self, url: httpx.URL) -> None:
        """Does nothing where `url` may be asked, if its addresses may be.

        Raises:
            AddressRefusedError: it may not be asked at any address.
        """
        host, port = _host_and_port(url)
        if self._hosts is not None and not any(each.fits(host, port) for each in self._hosts):
            raise AddressRefusedError(
                url.host, f"port {port} of this host is not among those that are allowed ({self._listed()})."
            )
        literal = _literal(host)
        if literal is not None:
            self._check_address(url, literal)

    def allowed(self, url: httpx.URL, addresses: Iterable[str]) -> tuple[str, ...]:
        """Those of the addresses that the host of `url` resolves to that may be connected to, in order.

        Raises:
            AddressRefusedError: it may not be asked, or at none of them.
        """
        self.check(url)
        kept = []
        refusal: AddressRefusedError | None = None
        for address in addresses:
            try:
                self._check_address(url, ipaddress.ip_address(address))
            except AddressRefusedError as exc:
                refusal = exc
            else:
                kept.append(address)
        if not kept:
            raise refusal or AddressRefusedError(url.host, "this name has no address.")
        return tuple(dict.fromkeys(kept))

    def _check_address(self, url: httpx.URL, address: IPAddress) -> None:
        if is_public(address):
            return
        host, port = _host_and_port(url)
        named = any(each.fits(host, port) for each in self._private)
        if named and (_literal(host) is not None or not _is_special(address)):
            return
        raise AddressRefusedError(
            url.host, f"its address {address} is not public, and this host is not among those that may be so."
        )

    def _listed(self) -> str:
        return ", ".join(map(str, self._hosts or ())) or "none are"


def private_hosts(url: httpx.URL) -> Iterator[str]:
    """The host of a URL that somebody in charge has written, where that is this machine or a bare address.

    Such a one means what it says; a name is only as good as who answers for it.
    """
    host, port = _host_and_port(url)
    if host == "localhost" or host.endswith(".localhost") or _literal(host) is not None:
        yield f"{_bracketed(host)}:{port}"


def host_of(url: httpx.URL) -> str:
    """The host of `url` as `AddressRules` reads it, at its port."""
    host, port = _host_and_port(url)
    return _bracketed(host) if port in _DEFAULT_PORTS.values() else f"{_bracketed(host)}:{port}"


def is_public(address: IPAddress) -> bool:
    """Whether `address` is one of the public internet; of one that carries another, whether that is."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        carried = address.ipv4_mapped
        if carried is None and address in _NAT64:
            carried = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if carried is not None:
            return is_public(carried)
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    )


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

# What `is_global` lets through, or not in every version of Python: IANA's special-purpose registries, and the
# forms of IPv6 that carry an IPv4 address through a tunnel.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",
            "192.0.0.0/24",
            "192.88.99.0/24",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "2002::/16",
            "3fff::/20",
            "5f00::/16",
            "fec0::/10",
        ),
    )
)


def _is_special(address: IPAddress) -> bool:
    """Whether this is nobody's own address: link-local, multicast, unspecified or broadcast."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return _is_special(address.ipv4_mapped)
    return (
        address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or (address.is_reserved and not address.is_loopback)
    )


@dataclass(frozen=True)
class _Host:
    """A host that may be asked; of a name that begins with a dot, every host below."""

    name: str
    port: int | None

    def __str__(self) -> str:
        name = f"*{self.name}" if self.name.startswith(".") else _bracketed(self.name)
        if self.port is None:
            return name
        return f"{name}:{'*' if self.port == _ANY_PORT else self.port}"

    @classmethod
    def read(cls, text: str) -> _Host:
        if not isinstance(text, str):
            raise TypeError(f"A host is {text!r:.60}. Write it as a text, such as 'api.example.com'.")
        is_wild, any_port = text.startswith("*."), text.endswith(":*")
        rest = text.removeprefix("*.").removesuffix(":*")
        if _literal(rest) is not None:
            return cls(rest.casefold(), _ANY_PORT if any_port else None)
        try:
            url = httpx.URL(f"//{rest}")
            host = _canonical(url)
            is_bare = not url.userinfo and url.raw_path in {b"", b"/"} and not url.fragment
            usable = is_bare and _NAME.fullmatch(host) is not None and (url.port or 0) < 1 << 16
        except (httpx.InvalidURL, UnicodeError):
            usable = False
        if not usable:
            raise ValueError(
                f"{text!r} names no host. Write it without scheme and path, such as 'api.example.com:8080'."
            )
        return cls(f".{host}" if is_wild else host, _ANY_PORT if any_port else url.port)

    def fits(self, host: str, port: int) -> bool:
        same = host.endswith(self.name) if self.name.startswith(".") else host == self.name
        if self.port is None:
            return same and port in _DEFAULT_PORTS.values()
        return same and self.port in {port, _ANY_PORT}


def _host_and_port(url: httpx.URL) -> tuple[str, int]:
    if url.scheme not in _DEFAULT_PORTS:
        raise AddressRefusedError(url.host, f"{url.scheme!r} is neither 'http' nor 'https'.")
    return _canonical(url), url.port or _DEFAULT_PORTS[url.scheme]


def _canonical(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii").casefold().rstrip(".")


def _literal(host: str) -> IPAddress | None:
    """The address that `host` is, also where it is written as programs in C read it: ``0x7f.1``."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
