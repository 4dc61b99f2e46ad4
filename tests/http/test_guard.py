"""`AddressRules`: which hosts may be asked, and at which addresses."""

from __future__ import annotations

import ipaddress

import httpx
import pytest

from toolsearch.exceptions import AddressRefusedError
from toolsearch.http.guard import AddressRules, host_of, is_public, private_hosts

PUBLIC = "93.184.216.34"


def url(text: str) -> httpx.URL:
    return httpx.URL(text)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.5", "172.16.3.4", "192.168.1.1", "169.254.169.254"),
        *(
            "100.64.0.1",
            "192.0.0.8",
            "192.88.99.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2001:0:7f00:1::1", "::7f00:1", "3fff::1", "5f00::1"),
    ],
)
def test_what_is_not_of_the_public_internet_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "172.32.0.1"]
)
def test_what_is_of_the_public_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "text",
    [
        "http://169.254.169.254/latest/",
        "http://127.0.0.1:8000",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
    ],
)
def test_a_bare_address_that_is_not_public_is_refused_in_any_spelling(text: str) -> None:
    """(E165)"""
    with pytest.raises(AddressRefusedError, match="is not public"):
        AddressRules(None).check(url(text))


def test_a_name_may_be_connected_to_at_its_public_addresses_alone() -> None:
    """(E165)"""
    rules = AddressRules(None)
    where = url("https://api.example.com/v1")
    assert rules.allowed(where, ["10.0.0.5", PUBLIC, PUBLIC, "::1"]) == (PUBLIC,)
    with pytest.raises(AddressRefusedError, match=r"10\.0\.0\.5 is not public") as refused:
        rules.allowed(where, ["10.0.0.5"])
    assert refused.value.host == "api.example.com"
    with pytest.raises(AddressRefusedError, match="no address"):
        rules.allowed(where, [])


@pytest.mark.parametrize(
    ("host", "fits", "others"),
    [
        (
            "api.example.com",
            ("https://api.example.com", "http://API.example.com.", "https://api.example.com:80/x"),
            ("https://api.example.com:8080", "https://example.com", "https://api.example.com.evil.org"),
        ),
        (
            "api.example.com:8080",
            ("http://api.example.com:8080",),
            ("http://api.example.com", "https://xapi.example.com:8080"),
        ),
        (
            "api.example.com:*",
            ("http://api.example.com:9", "https://api.example.com"),
            ("http://example.com:9",),
        ),
        (
            "*.example.com",
            ("https://a.example.com", "https://a.b.example.com"),
            ("https://example.com", "https://example.com.org", "https://badexample.com"),
        ),
        (
            "bücher.example",
            ("https://xn--bcher-kva.example", "https://bücher.example"),
            ("https://bucher.example",),
        ),
        ("[2606:4700::1111]:8443", ("https://[2606:4700::1111]:8443",), ("https://[2606:4700::1111]",)),
        ("2606:4700::1111", ("https://[2606:4700::1111]",), ("https://[2606:4700::1112]",)),
        ("8.8.8.8", ("https://8.8.8.8",), ("https://8.8.4.4",)),
    ],
)
def test_a_host_stands_for_what_it_says(host: str, fits: tuple[str, ...], others: tuple[str, ...]) -> None:
    rules = AddressRules([host])
    for text in fits:
        rules.check(url(text))
    for text in others:
        with pytest.raises(AddressRefusedError, match="not among those that are allowed"):
            rules.check(url(text))


def test_a_private_host_is_allowed_at_its_private_addresses_and_nobody_else_is() -> None:
    rules = AddressRules(["api.example.com"], private=["intranet.corp", "localhost:8000"])
    assert rules.allowed(url("http://intranet.corp"), ["10.1.2.3", "127.0.0.1"]) == ("10.1.2.3", "127.0.0.1")
    assert rules.allowed(url("http://localhost:8000"), ["::1"]) == ("::1",)
    with pytest.raises(AddressRefusedError):
        rules.allowed(url("http://api.example.com"), ["10.1.2.3"])


def test_link_local_addresses_are_reached_by_no_name() -> None:
    named = AddressRules(None, private=["metadata.corp"])
    for address in ("169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0", "224.0.0.1"):
        with pytest.raises(AddressRefusedError):
            named.allowed(url("http://metadata.corp"), [address])
    bare = AddressRules(None, private=["169.254.169.254"])
    assert bare.allowed(url("http://169.254.169.254"), ["169.254.169.254"]) == ("169.254.169.254",)


@pytest.mark.parametrize("text", ["ftp://api.example.com", "file:///etc/passwd", "unix://x"])
def test_only_http_is_asked(text: str) -> None:
    with pytest.raises(AddressRefusedError, match="neither 'http' nor 'https'"):
        AddressRules(None).check(url(text))


@pytest.mark.parametrize(
    "text", ["", "http://x", "x/y", "user@x", "x:99999", "**.x", "x:*:*", "x?y", "x#y", "a b"]
)
def test_what_names_no_host_is_refused_when_it_is_given(text: str) -> None:
    with pytest.raises(ValueError, match="names no host"):
        AddressRules([text])


def test_one_text_is_no_collection_of_hosts() -> None:
    with pytest.raises(TypeError, match="hosts is the text"):
        AddressRules("api.example.com")
    with pytest.raises(TypeError, match="private is the text"):
        AddressRules(None, private="localhost")


def test_a_url_that_somebody_in_charge_wrote_may_be_on_this_machine() -> None:
    for text, host in (
        ("http://localhost:8000/openapi.json", "localhost:8000"),
        ("http://127.0.0.1", "127.0.0.1:80"),
        ("https://[::1]/x", "[::1]:443"),
    ):
        assert list(private_hosts(url(text))) == [host]
        AddressRules((), private=private_hosts(url(text))).check(url(text))
    assert list(private_hosts(url("https://intranet.corp"))) == []


def test_the_host_of_a_url_is_read_back() -> None:
    for text in ("https://api.example.com/x", "http://[::ffff:8.8.8.8]:8080", "https://api.example.com:444"):
        AddressRules([host_of(url(text))]).check(url(text))
    assert host_of(url("http://a.example:80")) == "a.example"
