"""One page of a project's records, from the table's index by project and time."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from tokencount.domain.records import RecordQuery

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "by-project"
# What one page may cost: queries, and the records that each looks at where a filter leaves most of them out.
QUERIES, LOOKED_AT = 4, 250


class Search:
    """The queries of one page.

    Args:
        now: records whose time is over by then are left out.
    """

    def __init__(self, query: RecordQuery, now: datetime) -> None:
        self._query = query
        self._names: dict[str, str] = {}
        self._values: dict[str, dict[str, str]] = {}
        self._request: dict[str, Any] = {
            "IndexName": INDEX,
            "ScanIndexForward": False,
            "KeyConditionExpression": self._key_condition(),
            "FilterExpression": self._filter(now),
            "ExpressionAttributeNames": self._names,
            "ExpressionAttributeValues": self._values,
        }

    def run(self, client: "DynamoDBClient", table: str) -> tuple[list[dict[str, Any]], str | None]:
        """The items of the page, and the id after which to go on, None at the end. Raises botocore's errors."""
        wanted, found, last = self._query, [], self._query.after
        if wanted.after and wanted.since and wanted.after < wanted.since:
            return [], None  # DynamoDB takes no start outside of what is asked for
        for looked_at in self._sizes():
            start: dict[str, Any] = {"ExclusiveStartKey": self._key(last)} if last else {}
            reply = client.query(TableName=table, Limit=looked_at, **self._request, **start)
            found += reply["Items"]
            if len(found) > wanted.limit:
                page = found[: wanted.limit]
                return page, str(page[-1]["id"]["S"])
            if "LastEvaluatedKey" not in reply:
                return found, None
            last = str(reply["LastEvaluatedKey"]["id"]["S"])
        return found, last

    def _sizes(self) -> list[int]:
        """Unfiltered, one record more than the page has tells whether another page follows."""
        filtered = self._query.model is not None or self._query.statuses is not None
        return [LOOKED_AT if filtered else self._query.limit + 1] + [LOOKED_AT] * (QUERIES - 1)

    def _key(self, last: str) -> dict[str, Any]:
        return {"project": {"S": self._query.project}, "id": {"S": last}}

    def _key_condition(self) -> str:
        condition = f"{self._name('project')} = {self._value('project', 'S', self._query.project)}"
        if self._query.since:
            condition += f" AND {self._name('id')} >= {self._value('since', 'S', self._query.since)}"
        return condition

    def _filter(self, now: datetime) -> str:
        conditions = [f"{self._name('expires_at')} > {self._value('now', 'N', int(now.timestamp()))}"]
        if self._query.model is not None:
            conditions.append(f"{self._name('model')} = {self._value('model', 'S', self._query.model)}")
        if self._query.statuses:
            lowest, highest = self._query.statuses
            between = f"{self._value('lowest', 'N', lowest)} AND {self._value('highest', 'N', highest)}"
            conditions.append(f"{self._name('status')} BETWEEN {between}")
        return " AND ".join(conditions)

    def _name(self, attribute: str) -> str:
        """A placeholder: `status` and others are words of DynamoDB's own."""
        self._names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def _value(self, name: str, kind: str, value: object) -> str:
        self._values[f":{name}"] = {kind: str(value)}
        return f":{name}"
