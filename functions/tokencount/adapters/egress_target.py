"""URLs as the egress guard reads them: strictly, since a guard is passed by what two parsers read in two ways."""

import re
from dataclasses import dataclass
from urllib.parse import quote

import idna

from tokencount.adapters.egress_errors import Denied, Failed

PORT = 443
MAX_URL_CHARACTERS = 8192
MAX_HOST_CHARACTERS = 253

_URL = re.compile(r"https://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::([0-9]*))?")
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_BLANK = re.compile(r"[\x00-\x20\x7f-\xa0]")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL points.

    Args:
        host: as it is resolved and named in TLS, an IPv6 address without its brackets.
        authority: as the Host header has it.
        resource: path and query.
    """

    host: str
    authority: str
    resource: str


def target_of(url: str) -> Target:
    """Where a URL points.

    Raises:
        Denied: it is not plain https on port 443.
        Failed: it is no URL.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise Failed(f"its url has {len(url)} characters; at most {MAX_URL_CHARACTERS} are accepted")
    if "\\" in url:
        raise Denied("a backslash in the url is not allowed")
    if _BLANK.search(url):
        raise Failed("its url holds a space or a control character")
    parts = _URL.fullmatch(url)
    if not parts:
        raise Denied("only https on port 443 is allowed")
    authority, path, query = parts.groups(default="")
    if "@" in authority:
        raise Denied("a user name in the url is not allowed")
    host = _host(authority)
    resource = quote((path or "/") + query, safe="!$%&'()*+,/:;=?@[]~")
    return Target(host.strip("[]"), host, resource)


def _host(authority: str) -> str:
    parts = _AUTHORITY.fullmatch(authority)
    if not parts:
        raise Failed("its url names no host")
    name, port = parts.groups()
    if port and port.lstrip("0") != str(PORT):
        raise Denied("only https on port 443 is allowed")
    if name.startswith("["):
        return name.lower()
    return _host_name(name)


def _host_name(name: str) -> str:
    """The name in the form in which it is looked up."""
    if len(name) > MAX_HOST_CHARACTERS:
        raise Failed(f"the host in its url has {len(name)} characters; at most {MAX_HOST_CHARACTERS} are accepted")
    try:
        host = name if name.isascii() else idna.encode(name, uts46=True).decode()
    except UnicodeError as error:
        raise Failed("the host in its url is no host name") from error
    host = host.lower().removesuffix(".")
    if not _HOST.fullmatch(host):
        raise Failed("the host in its url is no host name")
    return host
