"""Which IP addresses are on the public internet, whatever form they are dressed in.

Stated from IANA's special-purpose registries rather than by `ipaddress.is_global`: that differs between Python's
versions, takes multicast for global, and judges an IPv4 address inside an IPv6 one by its wrapping.
"""

import ipaddress

_SPECIAL_V4 = [
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# IETF protocol assignments (Teredo is looked into before), documentation.
_SPECIAL_V6 = [ipaddress.IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20")]
# Forms that carry an IPv4 address in their last 32 bits: compatible, mapped, translated, NAT64.
_CARRIERS = [
    ipaddress.IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
]
# An ISATAP interface carries one there in any network (RFC 5214, section 6.1).
_ISATAP = {0x0000_5EFE, 0x0200_5EFE}


def is_public(text: str) -> bool:
    """Whether an address, as a resolver gives it, is globally routable unicast; an IPv4 address inside decides."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    inner = [address] if isinstance(address, ipaddress.IPv4Address) else _inner(address)
    if any(each in network for each in inner for network in _SPECIAL_V4):
        return False
    return isinstance(address, ipaddress.IPv4Address) or _is_carrier(address) or _is_global(address)


def _is_global(address: ipaddress.IPv6Address) -> bool:
    if address.scope_id is not None or address not in _GLOBAL_UNICAST:
        return False
    return address.teredo is not None or not any(address in network for network in _SPECIAL_V6)


def _is_carrier(address: ipaddress.IPv6Address) -> bool:
    return any(address in network for network in _CARRIERS)


def _inner(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses inside: to which the packets go, or by way of which."""
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if _is_carrier(address) or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return [ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)]
    return []
