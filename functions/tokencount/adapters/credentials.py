"""Credentials in DynamoDB, under the SHA-256 of their secret, and the 60 seconds they are remembered in a function."""

import hmac
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.ports import Credentials

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CACHE_SECONDS = 60.0
_CACHE_SIZE = 4096
_DATES = ("created_at", "expires_at", "revoked_at")


class CredentialStore:
    """The credentials table."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def put(self, secret: Secret, credential: Credential) -> None:
        """Keeps who holds `secret`, and not the secret."""
        item: dict[str, Any] = {name: getattr(credential, name) for name in Credential.__slots__}
        item |= {name: item[name] and item[name].isoformat() for name in _DATES}
        item |= {"id": _key(secret), "credential_id": item["id"]}
        self._client.put_item(TableName=self._table, Item=to_item(item))

    def find(self, secret: Secret) -> Credential | None:
        """Who holds `secret`, or None.

        Raises:
            NodeUnavailable: the table does not answer.
        """
        key = _key(secret)
        try:
            reply = self._client.get_item(TableName=self._table, Key=to_item({"id": key}), ConsistentRead=True)
        except (BotoCoreError, ClientError) as error:
            message = "Credentials cannot be checked right now; retry in a few seconds"
            raise NodeUnavailable(message, retry_after=5) from error
        item = from_item(reply.get("Item", {}))
        if not hmac.compare_digest(item.pop("id", ""), key):
            return None
        item["id"] = item.pop("credential_id")
        dates = {name: datetime.fromisoformat(item[name]) for name in _DATES if name in item}
        return Credential(**item | dates)


class CachedCredentials:
    """Remembers what was found for at most 60 seconds, so that a revoked credential dies within a minute.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, store: Credentials, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._found: OrderedDict[str, tuple[float, Credential]] = OrderedDict()

    def find(self, secret: Secret) -> Credential | None:
        """As the store's own; only credentials that exist are remembered."""
        digest, now = secret.digest, self._clock()
        if (entry := self._found.get(digest)) and now - entry[0] < CACHE_SECONDS:
            return entry[1]
        self._found.pop(digest, None)
        if credential := self._store.find(secret):
            self._found[digest] = (now, credential)
            if len(self._found) > _CACHE_SIZE:
                self._found.popitem(last=False)
        return credential


def _key(secret: Secret) -> str:
    return f"secret#{secret.digest}"
