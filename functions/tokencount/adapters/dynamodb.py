"""Between plain JSON types and DynamoDB's typed items."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def to_item(data: Mapping[str, Any]) -> dict[str, Any]:
    """A typed item; what is None is left out, since an index takes no NULL."""
    return {key: _typed(value) for key, value in data.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The plain JSON types of a typed item."""
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
        case Mapping():
            return {"M": {key: _typed(item) for key, item in value.items()}}
        case list() | tuple():
            return {"L": [_typed(item) for item in value]}
    raise TypeError(f"an item holds JSON types, not {type(value).__name__}")


def _plain(typed: Mapping[str, Any]) -> Any:
    [(kind, value)] = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            number = Decimal(value)
            return int(number) if number == number.to_integral_value() else float(number)
        case "M":
            return from_item(value)
        case "L":
            return [_plain(item) for item in value]
    return value
