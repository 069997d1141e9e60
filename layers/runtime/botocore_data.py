"""Leaves of botocore's descriptions what the functions call: half of the layer less, and less to read at each start.

`python botocore_data.py FOLDER SERVICE.OPERATION…`: botocore describes some 450 services, looks through all of them for
each client, reads every service's endpoints for the first, and makes a method of a client of each operation.
"""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Description = dict[str, Any]


def main(folder: Path, calls: list[str]) -> None:
    """Leave in a copy of `botocore/data` what these calls need, without what only people read."""
    names = {service: [name for each, _, name in _split(calls) if each == service] for service, _, _ in _split(calls)}
    for place in folder.iterdir():
        if place.is_dir() and place.name not in names:
            shutil.rmtree(place)
    for examples in folder.glob("*/*/examples-1.json"):
        examples.unlink()
    prefixes = set()
    for path in folder.glob("*/*/service-2.json.gz"):
        whole = json.loads(gzip.decompress(path.read_bytes()), object_hook=_undocumented)
        prefixes.add(whole["metadata"]["endpointPrefix"])
        _write(path, reduced(whole, names[path.parent.parent.name]))
    _keep_endpoints(folder / "endpoints.json", prefixes)


def reduced(whole: Description, operations: list[str]) -> Description:
    """A service's description with these operations and the shapes that they need."""
    kept = {name: operation for name, operation in whole["operations"].items() if name in operations}
    shapes: Description = {}
    pending = [*_references(kept)]
    while pending:
        if (name := pending.pop()) not in shapes:
            shapes[name] = whole["shapes"][name]
            pending += _references(shapes[name])
    return whole | {"operations": kept, "shapes": shapes}


def _references(item: Any) -> Iterator[str]:
    """The names of the shapes that are spoken of in a part of a description."""
    if isinstance(item, dict):
        # A member may have that name, and is no reference.
        if isinstance(item.get("shape"), str):
            yield item["shape"]
        item = item.values()
    if not isinstance(item, str | int | float | None):
        for each in item:
            yield from _references(each)


def _split(calls: list[str]) -> list[tuple[str, str, str]]:
    return [call.partition(".") for call in calls]


def _undocumented(item: Description) -> Description:
    # Likewise.
    return {key: value for key, value in item.items() if key != "documentation" or not isinstance(value, str)}


def _write(path: Path, description: Description) -> None:
    path.write_bytes(gzip.compress(json.dumps(description, separators=(",", ":")).encode(), mtime=0))


def _keep_endpoints(path: Path, prefixes: set[str]) -> None:
    endpoints = json.loads(path.read_bytes())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: partition["services"][name] for name in prefixes & partition["services"].keys()}
    path.write_text(json.dumps(endpoints, sort_keys=True, separators=(",", ":")), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
