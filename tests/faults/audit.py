"""Where the record of every answer is: in the table, at once or by way of the queue, or whole in a line of the log."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests.faults.stand import EDGE, Stand
from tests.faults.traffic import OURS, Outcome

QUEUED, LOST = "the record goes to the queue", "the record was not kept"
Kept = Counter[str]


class Audit:
    """Of the answers of one fault.

    Args:
        log: the edge's log as it was before them.
    """

    def __init__(self, stand: Stand) -> None:
        self._stand = stand
        self._start = len(stand.log(EDGE))

    def kept(self, outcomes: Iterable[Outcome], seconds: float) -> tuple[Kept, list[str]]:
        """How many answers have their record where, and what is not as it should be.

        An answer of the gateway's own has an id of its own and no record; one whose caller could not be looked up
        belongs to no project, and has the line that the edge's log has of every answer.

        Args:
            seconds: how long queued records are waited for.
        """
        answers = {each.request_id: each for each in outcomes if OURS.fullmatch(each.request_id)}
        ends = time.monotonic() + seconds
        records: dict[str, dict[str, Any]] = {}
        while True:
            records |= self._stand.records(answers.keys() - records.keys())
            lines = list(self._lines())
            logged = {line["record"]["id"]: line["record"] for line in lines if line.get("message") == LOST}
            told = {line.get("request_id") for line in lines if line.get("message") == "answered"}
            missing = answers.keys() - records.keys() - logged.keys()
            unknown = {each for each in missing & told if answers[each].stranger}
            if missing == unknown or time.monotonic() > ends:
                break
            time.sleep(0.2)
        queued = {line.get("request_id") for line in lines if line.get("message") == QUEUED}
        where: Kept = Counter()
        where["gateway"] = sum(not OURS.fullmatch(each.request_id) for each in outcomes if each.status)
        problems = [f"{each}: no record ({answers[each].told})" for each in missing - unknown]
        for request_id, answer in answers.items():
            record = records.get(request_id) or logged.get(request_id)
            if record is None:
                where["caller unknown"] += request_id in unknown
                continue
            way = "log" if request_id not in records else "queue" if request_id in queued else "table"
            where[way] += 1
            if record["status"] != answer.status:
                problems.append(f"{request_id}: answered {answer.told}, recorded {record['status']}")
        return where, problems

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self._stand.log(EDGE)[self._start :].splitlines():
            if line.startswith("{"):
                try:
                    yield json.loads(line)
                except ValueError:  # cut by the end of the process that wrote it
                    continue
