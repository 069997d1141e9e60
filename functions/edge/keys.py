"""The routes of a project's API keys."""

from collections.abc import Callable
from datetime import datetime

from edge.exchange import Answer, Exchange, Route, json_answer
from edge.paging import PAGE_PARAMETERS, read_page, read_parameters
from tokencount.domain import ports
from tokencount.domain.credentials import KEYS_MANAGE
from tokencount.domain.cursors import to_cursor
from tokencount.domain.errors import NotFound, UnsupportedMediaType, quote
from tokencount.domain.ids import is_id
from tokencount.domain.issuing import issue_key
from tokencount.domain.keys import read_key_request, show_key
from tokencount.domain.strict_json import loads

# The secret of a new key is in one answer and in no cache.
NOT_STORED = {"Cache-Control": "no-store"}


class Keys:
    """The routes below `/v1/keys`, for whoever may manage a project's keys.

    Args:
        forget: drops what this function remembers of a key, by its id.
        now: the clock, UTC.
    """

    def __init__(self, keys: ports.Keys, forget: Callable[[str], None], now: Callable[[], datetime]) -> None:
        self._keys = keys
        self._forget = forget
        self._now = now

    @property
    def routes(self) -> dict[tuple[str, str], Route]:
        """By method and path."""
        return {
            ("POST", "/v1/keys"): self.create,
            ("GET", "/v1/keys"): self.list,
            ("DELETE", "/v1/keys/{id}"): self.revoke,
        }

    def create(self, exchange: Exchange) -> Answer:
        """A new key of the caller's project, with at most the caller's scopes, and its secret."""
        creator = exchange.credential
        creator.require_scope(KEYS_MANAGE)
        if not exchange.request.is_json:
            raise UnsupportedMediaType("expected Content-Type: application/json")
        now = self._now()
        wanted = read_key_request(loads(exchange.request.body), now)
        for scope in wanted.scopes:
            creator.require_scope(scope)
        secret, key = issue_key(
            creator.organization,
            creator.project,
            name=wanted.name,
            scopes=wanted.scopes,
            now=now,
            expires_at=wanted.expires_at,
            spend_cap=wanted.spend_cap,
        )
        self._keys.add(secret, key)
        return json_answer(show_key(key) | {"secret": secret.reveal()}, 201, NOT_STORED)

    def list(self, exchange: Exchange) -> Answer:
        """Keys of the caller's project, the newest first."""
        exchange.credential.require_scope(KEYS_MANAGE)
        project = exchange.credential.project
        wanted = read_page(read_parameters(exchange.request.query, PAGE_PARAMETERS), "key", project)
        page = self._keys.page(project, wanted.limit, wanted.after)
        cursor = to_cursor(page.last, project) if page.last else None
        return json_answer({"object": "list", "data": [show_key(key) for key in page.keys], "next_cursor": cursor})

    def revoke(self, exchange: Exchange, id: str) -> Answer:
        """A key of the caller's project, which is no credential any more; a second time changes nothing."""
        exchange.credential.require_scope(KEYS_MANAGE)
        key = self._keys.revoke(id, exchange.credential.project, self._now()) if is_id(id) else None
        if key is None:
            raise NotFound(f"There is no key {quote(id)} in this project")
        self._forget(key.id)
        return json_answer(show_key(key))
