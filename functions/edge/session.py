"""The route that tells a dashboard whose session it has."""

from edge.authentication import session_secret
from edge.exchange import Answer, Exchange, Route, json_answer
from edge.keys import NOT_STORED
from tokencount.domain.errors import Unauthorized
from tokencount.domain.moments import show_moment


class Session:
    """The route `/v1/auth/session`."""

    @property
    def routes(self) -> dict[tuple[str, str], Route]:
        """By method and path."""
        return {("GET", "/v1/auth/session"): self.show}

    def show(self, exchange: Exchange) -> Answer:
        """Whose session it is, and the CSRF token that the session's other requests need."""
        session, secret = exchange.credential, session_secret(exchange.request)
        if session.kind != "session" or secret is None:
            raise Unauthorized("This route is for the dashboard: it takes the session cookie and no other credential")
        body = {
            "object": "session",
            "id": session.id,
            "user": session.user,
            "organization": session.organization,
            "project": session.project,
            "expires_at": show_moment(session.expires_at),
            "csrf_token": secret.csrf_token,
        }
        return json_answer(body, headers=NOT_STORED)
