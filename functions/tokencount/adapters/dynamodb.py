"""Between plain JSON types and DynamoDB's typed items."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

_SERIALIZER = TypeSerializer()
_DESERIALIZER = TypeDeserializer()


def to_item(data: Mapping[str, Any]) -> dict[str, Any]:
    """A typed item; what is None is left out, since an index takes no NULL."""
    present = {key: value for key, value in data.items() if value is not None}
    plain = json.loads(json.dumps(present), parse_float=Decimal)
    return {key: _SERIALIZER.serialize(value) for key, value in plain.items()}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The plain JSON types of a typed item."""
    return {key: _plain(_DESERIALIZER.deserialize(value)) for key, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
