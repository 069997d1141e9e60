"""A translated template in one setting of its conditions on endpoints and on recording; others are left alone."""

import re
from collections.abc import Callable, Iterator
from typing import Any

_NOTHING = object()
# Whether a condition holds; None where it is left alone.
_Setting = Callable[[str], bool | None]


def settled(resources: dict[str, Any], *, endpoints: bool = False, recording: bool = False) -> dict[str, Any]:
    """The resources that there are with endpoints and recording, or without, each `Fn::If` decided."""

    def holds(condition: str) -> bool | None:
        if re.fullmatch(r"Deploy\w+Endpoint", condition):
            return endpoints
        return recording if condition == "RecordEvents" else None

    kept = {name: item for name, item in resources.items() if holds(item.get("Condition", "")) is not False}
    decided: dict[str, Any] = _decided(kept, holds)
    return decided


def _decided(value: Any, holds: _Setting) -> Any:
    match value:
        case {"Ref": "AWS::NoValue"}:
            return _NOTHING
        case {"Fn::If": [str(condition), yes, no]} if (held := holds(condition)) is not None:
            return _decided(yes if held else no, holds)
        case dict():
            items = ((key, _decided(item, holds)) for key, item in value.items())
            return {key: item for key, item in items if item is not _NOTHING}
        case list():
            return [item for item in (_decided(item, holds) for item in value) if item is not _NOTHING]
    return value


def references(value: Any) -> Iterator[str]:
    """Every name of a resource or parameter that a part of the template refers to."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case {"Fn::Sub": str(text)} | {"Fn::Sub": [str(text), _]}:
            yield from (name.split(".")[0] for name in re.findall(r"\$\{([^!}]+)\}", text))
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from references(item)
