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


def is_public(text: str) -> bool:
    """Whether an address, as a resolver gives it, is globally routable unicast; an IPv4 address inside decides."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    inner = address if isinstance(address, ipaddress.IPv4Address) else _inner(address)
    if inner is not None:
        return not any(inner in network for network in _SPECIAL_V4)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _SPECIAL_V6)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _CARRIERS):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
