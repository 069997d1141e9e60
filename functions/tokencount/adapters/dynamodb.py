"""Between plain JSON types and DynamoDB's typed attribute values, without boto3's resources (see `aws`).

The forms are those of DynamoDB's API reference, AttributeValue.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def to_item(data: Mapping[str, Any]) -> dict[str, Any]:
    """A typed item; what is None is left out, since an index takes no NULL.

    Raises:
        TypeError: a value that JSON has no type for.
    """
    return {key: _typed(value) for key, value in data.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The plain JSON types of a typed item; sets and binaries, which no item of ours has, as they come."""
    return {key: _plain(value) for key, value in item.items()}


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case list() | tuple():
            return {"L": [_typed(item) for item in value]}
        case dict():
            return {"M": {key: _typed(item) for key, item in value.items()}}
    raise TypeError(f"a table takes JSON, and no {type(value).__name__}")


def _plain(typed: Mapping[str, Any]) -> Any:
    [(kind, value)] = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            number = Decimal(value)
            return int(number) if number == number.to_integral_value() else float(number)
        case "L":
            return [_plain(item) for item in value]
        case "M":
            return from_item(value)
    return value
