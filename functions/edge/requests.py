"""The routes of the request log."""

from edge.exchange import Answer, Exchange, Route, json_answer
from edge.record_query import read_record_query
from tokencount.domain.cursors import to_cursor
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
        return {("GET", "/v1/requests"): self.list, ("GET", "/v1/requests/{request_id}"): self.show}

    def list(self, exchange: Exchange) -> Answer:
        """Records of the caller's own project, the newest first."""
        project = exchange.credential.project
        page = self._log.find(read_record_query(exchange.request.query, project))
        cursor = to_cursor(page.last, project) if page.last else None
        return json_answer({"object": "list", "data": page.records, "next_cursor": cursor})

    def show(self, exchange: Exchange, request_id: str) -> Answer:
        """One record of the caller's own project."""
        record = self._log.get(request_id) if is_id(request_id) else None
        if record is None or record["project"] != exchange.credential.project:
            raise NotFound(f"There is no request {quote(request_id)} in this project")
        return json_answer(record)
