"""What the routes answer and take beside the count: models, request records, API keys, sessions."""

from docs.openapi.schemas import Schema, closed, nullable, ref, schemas_of
from tokencount.adapters.answers import STATUS
from tokencount.domain.credentials import SCOPES
from tokencount.domain.keys import MAX_NAME, MAX_SPEND_CAP
from tokencount.domain.records import RequestRecord

ULID = "[0-9a-hjkmnp-tv-z]{26}"
REQUEST_ID: Schema = {"type": "string", "pattern": f"^req_{ULID}$"}
KEY_ID: Schema = {"type": "string", "pattern": f"^key_{ULID}$"}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MOMENT: Schema = {"type": "string", "format": "date-time"}
SCOPE: Schema = {"type": "string", "enum": list(SCOPES)}
SPEND_CAP: Schema = {
    "type": ["number", "null"],
    "minimum": 0,
    "maximum": MAX_SPEND_CAP,
    "description": "Stored and shown; counting is free, so it is never reached here.",
}


def resources() -> dict[str, Schema]:
    """The schemas by their names."""
    return {
        "Model": _model(),
        "ModelList": _list(ref("Model"), {"type": "null"}),
        "RequestRecord": _record(),
        "RequestRecordList": _list(ref("RequestRecord"), nullable(TEXT)),
        "NewKey": _new_key(),
        "Key": closed(_key()),
        "CreatedKey": closed(_key() | {"secret": TEXT | {"description": "The key itself, shown in this answer only."}}),
        "KeyList": _list(ref("Key"), nullable(TEXT)),
        "Session": _session(),
    }


def _list(item: Schema, cursor: Schema) -> Schema:
    return closed(
        {
            "object": {"type": "string", "enum": ["list"]},
            "data": {"type": "array", "items": item},
            "next_cursor": cursor,
        }
    )


def _model() -> Schema:
    digests = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
    return closed(
        {
            "id": TEXT,
            "object": {"type": "string", "enum": ["model"]},
            "context_length": {"type": "integer", "minimum": 1, "description": "Tokens of the longest prompt."},
            "max_request_bytes": {"type": "integer", "minimum": 1},
            "vision": {"type": "boolean"},
            "tokenizer_revision": TEXT,
            "digests": digests | {"description": "SHA-256 of each of the model's files."},
        }
    )


def _record() -> Schema:
    """The record's own fields, all of them always there; what the class leaves open is said here."""
    fields = schemas_of(RequestRecord)
    kinds = sorted({answer.type for answer in STATUS.values()})
    codes = sorted({answer.code for answer in STATUS.values()})
    said: dict[str, Schema] = {
        "id": REQUEST_ID,
        "created_at": MOMENT,
        "credential": closed({"kind": TEXT, "id": TEXT}),
        "images": closed(dict.fromkeys(fields["ImageTotals"]["properties"], COUNT)),
        "timing": {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0},
            "description": "Milliseconds a phase.",
        },
        "error": nullable(
            closed(
                {
                    "type": {"type": "string", "enum": kinds},
                    "code": {"type": "string", "enum": codes},
                    "param": nullable(TEXT),
                }
            )
        ),
        "expires_at": COUNT | {"description": "Seconds since 1970, when the record may go."},
    }
    return closed(
        fields["RequestRecord"]["properties"] | said, description="One request, without anything of its content."
    )


def _new_key() -> Schema:
    return closed(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
            "scopes": {
                "type": "array",
                "items": SCOPE,
                "minItems": 1,
                "uniqueItems": True,
                "description": "At most those of the credential that creates the key.",
            },
            "expires_at": nullable(MOMENT) | {"description": "ISO 8601, in the future."},
            "spend_cap": SPEND_CAP,
        },
        optional=("expires_at", "spend_cap"),
    )


def _key() -> dict[str, Schema]:
    return {
        "id": KEY_ID,
        "object": {"type": "string", "enum": ["key"]},
        "name": TEXT,
        "prefix": TEXT | {"description": "Enough to recognise the key, too little to use it."},
        "project": TEXT,
        "scopes": {"type": "array", "items": SCOPE},
        "spend_cap": SPEND_CAP,
        "expires_at": nullable(MOMENT),
        "created_at": MOMENT,
        "revoked_at": nullable(MOMENT),
    }


def _session() -> Schema:
    return closed(
        {
            "object": {"type": "string", "enum": ["session"]},
            "id": {"type": "string", "pattern": f"^ses_{ULID}$"},
            "user": TEXT,
            "organization": TEXT,
            "project": TEXT,
            "expires_at": MOMENT,
            "csrf_token": TEXT | {"description": "For the header x-b3os-csrf."},
        }
    )
