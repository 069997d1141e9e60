"""The rows that keep a credential, none of which opens anything.

One, under the SHA-256 of the secret, says who holds it; one, under the credential's id, points to the first.
`project` and `created_at` stand at the top of an API key's row alone: the index `by-project` lists what has both.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tokencount.domain.credentials import SCOPES, Credential, Secret

Row = dict[str, Any]
_DATES = ("created_at", "expires_at", "revoked_at")


def secret_id(secret: Secret) -> str:
    """The id of the row that a secret is looked up by."""
    return f"secret#{secret.digest}"


def to_rows(secret: Secret, credential: Credential) -> list[Row]:
    """The two rows of a credential, as plain JSON types."""
    holder = {name: getattr(credential, name) for name in Credential.__slots__}
    holder |= {name: holder[name] and holder[name].isoformat() for name in _DATES}
    # As text: DynamoDB has fewer numbers than JSON.
    holder["spend_cap"] = None if credential.spend_cap is None else json.dumps(credential.spend_cap)
    if credential.kind != "api_key":
        del holder["scopes"]
    row: Row = {"id": secret_id(secret), "holder": {name: value for name, value in holder.items() if value is not None}}
    pointer: Row = {"id": credential.id, "secret": row["id"]}
    if credential.kind == "api_key":
        row |= {"project": credential.project, "created_at": holder["created_at"]}
    elif credential.expires_at:
        # An expired key is still listed; an expired session is nothing any more.
        ttl = {"ttl": int(credential.expires_at.timestamp())}
        row, pointer = row | ttl, pointer | ttl
    return [row, pointer]


def from_row(row: Mapping[str, Any]) -> Credential:
    """The credential of the row of its secret."""
    holder: Row = dict(row["holder"])
    holder |= {name: datetime.fromisoformat(holder[name]) for name in _DATES if name in holder}
    if "spend_cap" in holder:
        holder["spend_cap"] = json.loads(holder["spend_cap"])
    if holder["kind"] != "api_key":
        holder["scopes"] = SCOPES
    return Credential(**holder)
