"""The routes of the request log."""

from edge.exchange import Answer, Exchange, Route, json_answer
from tokencount.domain.errors import NotFound, quote
from tokencount.domain.ids import is_id
from tokencount.domain.ports import RequestLog


class Requests:
    """The routes below `/v1/requests`."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log

    @property
    def routes(self) -> dict[tuple[str, str], Route]:
        """By method and path."""
        return {("GET", "/v1/requests/{request_id}"): self.show}

    def show(self, exchange: Exchange, request_id: str) -> Answer:
        """One record of the caller's own project."""
        record = self._log.get(request_id) if is_id(request_id) else None
        if record is None or record["project"] != exchange.credential.project:
            raise NotFound(f"There is no request {quote(request_id)} in this project")
        return json_answer(record)
