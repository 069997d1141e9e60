"""An address is public or it is not, whatever form it is dressed in and whichever Python judges it."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokencount.adapters.addresses import is_public

PUBLIC = [
    "8.8.8.8", "1.1.1.1", "93.184.215.14", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:800::200e",
    "2002:0808:0808::1", "64:ff9b::808:808", "::ffff:8.8.8.8", "2001:200::1", "2606:4700::5efe:808:808",
]  # fmt: skip
FORBIDDEN_V4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
]  # fmt: skip
FORBIDDEN_V6 = [
    "::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "2001:db8::1", "100::1", "64:ff9b:1::1", "2001::1", "2001:10::1", "2001:1ff::1", "3fff::1", "4000::1", "5f00::1",
]  # fmt: skip
V4_IN_2001 = 0x2001_0000 << 96
GOOGLE = int(ipaddress.IPv4Address("8.8.8.8"))


def dressed(v4: str) -> list[str]:
    """Every IPv6 form of an IPv4 address; in a Teredo one it is the client's or the server's."""
    number = int(ipaddress.IPv4Address(v4))
    forms = [
        (0xFFFF << 32) | number,
        (0xFFFF << 48) | number,
        number,
        (0x0064_FF9B << 96) | number,
        (0x2002 << 112) | (number << 80) | 1,
        V4_IN_2001 | (GOOGLE << 64) | (number ^ 0xFFFF_FFFF),
        V4_IN_2001 | (number << 64) | (GOOGLE ^ 0xFFFF_FFFF),
        (0x2606_4700 << 96) | (0x5EFE << 32) | number,
        (0x2606_4700 << 96) | (0x0200_5EFE << 32) | number,
    ]
    return [str(ipaddress.IPv6Address(form)) for form in forms]


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", FORBIDDEN_V4 + FORBIDDEN_V6)
def test_an_address_that_is_not_routed_globally_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("inner", FORBIDDEN_V4)
def test_an_ipv4_address_is_judged_in_any_ipv6_form(inner: str) -> None:
    assert [form for form in dressed(inner) if is_public(form)] == []


@given(st.ip_addresses(v=4))
def test_no_ipv6_form_changes_what_an_ipv4_address_is(inner: ipaddress.IPv4Address) -> None:
    assert {is_public(form) for form in dressed(str(inner))} == {is_public(str(inner))}


@given(st.ip_addresses(v=4))
def test_what_is_public_of_ipv4_python_takes_for_global_too(address: ipaddress.IPv4Address) -> None:
    if is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=6))
def test_what_is_public_of_ipv6_is_global_unicast_or_carries_a_public_ipv4_address(
    address: ipaddress.IPv6Address,
) -> None:
    if is_public(str(address)):
        inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        assert address in ipaddress.IPv6Network("2000::/3") or is_public(str(inner))
        assert not any((address.is_loopback, address.is_link_local, address.is_multicast, address.is_unspecified))


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "1.2.3.4.5", "0177.0.0.1", "2130706433", "1.1.1.1 "])
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)
