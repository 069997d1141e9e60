"""Who asks: from the headers of a request to a credential that is valid now."""

import hmac
from collections.abc import Callable, Iterator
from datetime import datetime

from edge.request import EdgeRequest
from tokencount.domain.credentials import Credential, Secret, parse_secret
from tokencount.domain.errors import Forbidden, Unauthorized
from tokencount.domain.ports import Credentials

SESSION_COOKIE = "__Host-b3os_session"
CSRF_HEADER = "x-b3os-csrf"
_NO_CREDENTIAL = "No credential was sent; send an API key as Authorization: Bearer b3os_sk_…"
# What the machine that a browser runs on is called.
_LOCAL = frozenset({"localhost", "127.0.0.1"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class Authentication:
    """Finds who sent a request.

    Args:
        dashboard_host: the one host on which the session cookie is accepted; `localhost` is 127.0.0.1 as well.
        now: the clock, UTC.
    """

    def __init__(self, credentials: Credentials, dashboard_host: str, now: Callable[[], datetime]) -> None:
        self._credentials = credentials
        self._hosts = _LOCAL if dashboard_host in _LOCAL else frozenset({dashboard_host.lower()})
        self._now = now

    def find(self, request: EdgeRequest) -> Credential:
        """The valid credential of a request.

        Raises:
            Unauthorized: none was sent, or one that is malformed, unknown, revoked or expired, or two that differ.
            NodeUnavailable: it cannot be looked up.
        """
        secret = _api_secret(request) or self._session_secret(request)
        credential = self._credentials.find(secret)
        if credential is None:
            raise Unauthorized("This credential is not known; it may have been deleted")
        credential.require_valid(self._now())
        return credential

    def _session_secret(self, request: EdgeRequest) -> Secret:
        secret = session_secret(request)
        if secret is None:
            raise Unauthorized(_NO_CREDENTIAL)
        if request.host not in self._hosts:
            raise Unauthorized(f"The session cookie is accepted on the dashboard's host alone. {_NO_CREDENTIAL}")
        return secret


def require_csrf_token(request: EdgeRequest, credential: Credential) -> None:
    """Raises Forbidden where a session is to change something and its page did not send the session's CSRF token."""
    secret = session_secret(request) if credential.kind == "session" else None
    if secret is None or request.method in _SAFE_METHODS:
        return
    sent = (request.header(CSRF_HEADER) or "").encode("utf-8", "replace")
    if not hmac.compare_digest(sent, secret.csrf_token.encode()):
        raise Forbidden(f"A session's {request.method} needs the header {CSRF_HEADER} that GET /v1/auth/session tells")


def session_secret(request: EdgeRequest) -> Secret | None:
    """The secret of the session cookie, or None where there is no such cookie.

    Raises:
        Unauthorized: it is no session's, or there are two that differ.
    """
    secret = _only(value for name, value in request.cookies() if name == SESSION_COOKIE)
    if secret and secret.kind != "ses":
        raise Unauthorized(f"The cookie {SESSION_COOKIE} holds no session")
    return secret


def _api_secret(request: EdgeRequest) -> Secret | None:
    """The API key or token of `Authorization: Bearer` or `x-api-key`, or None where neither is sent."""
    secret = _only(_sent(request))
    if secret and secret.kind == "ses":
        raise Unauthorized(f"A session is accepted as the cookie {SESSION_COOKIE} alone")
    return secret


def _sent(request: EdgeRequest) -> Iterator[str]:
    yield from request.headers("x-api-key")
    for value in request.headers("authorization"):
        scheme, _, token = value.strip().partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("The Authorization header must be of the form: Bearer b3os_sk_…")
        yield token


def _only(values: Iterator[str]) -> Secret | None:
    found = {value.strip() for value in values} - {""}
    if len(found) > 1:
        raise Unauthorized("Two credentials that differ were sent; send one, as Authorization or as x-api-key")
    return parse_secret(found.pop()) if found else None
