"""A translated template in one setting of the conditions that deploy endpoints; other conditions are left alone."""

import re
from collections.abc import Iterator
from typing import Any

_NOTHING = object()


def _is_endpoint(condition: str) -> bool:
    return bool(re.fullmatch(r"Deploy\w+Endpoint", condition))


def settled(resources: dict[str, Any], *, endpoints: bool) -> dict[str, Any]:
    """The resources that there are with endpoints, or without, each `Fn::If` decided."""
    kept = {
        name: resource
        for name, resource in resources.items()
        if endpoints or not _is_endpoint(resource.get("Condition", ""))
    }
    decided: dict[str, Any] = _decided(kept, endpoints)
    return decided


def _decided(value: Any, endpoints: bool) -> Any:
    match value:
        case {"Ref": "AWS::NoValue"}:
            return _NOTHING
        case {"Fn::If": [str(condition), yes, no]} if _is_endpoint(condition):
            return _decided(yes if endpoints else no, endpoints)
        case dict():
            items = ((key, _decided(item, endpoints)) for key, item in value.items())
            return {key: item for key, item in items if item is not _NOTHING}
        case list():
            return [item for item in (_decided(item, endpoints) for item in value) if item is not _NOTHING]
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
