"""Leaves of botocore's descriptions what the functions call: half of the layer and a tenth of a cold start less.

`python botocore_data.py FOLDER SERVICE…`: botocore describes some 450 services, looks through all of them for each
client, reads every service's endpoints for the first, and a service's documentation with its description.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any


def main(folder: Path, services: list[str]) -> None:
    """Leave these services in a copy of `botocore/data`, without what only people read."""
    for place in folder.iterdir():
        if place.is_dir() and place.name not in services:
            shutil.rmtree(place)
    for examples in folder.glob("*/*/examples-1.json"):
        examples.unlink()
    prefixes = {undocumented(path)["metadata"]["endpointPrefix"] for path in folder.glob("*/*/service-2.json.gz")}
    endpoints = json.loads((folder / "endpoints.json").read_bytes())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: partition["services"][name] for name in prefixes & partition["services"].keys()}
    (folder / "endpoints.json").write_text(json.dumps(endpoints, sort_keys=True, separators=(",", ":")), "utf-8")


def undocumented(path: Path) -> dict[str, Any]:
    """A service's description, which is written back without its documentation."""
    description: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()), object_hook=_without_documentation)
    path.write_bytes(gzip.compress(json.dumps(description, separators=(",", ":")).encode(), mtime=0))
    return description


def _without_documentation(item: dict[str, Any]) -> dict[str, Any]:
    # A shape's member may have that name, and is no text.
    return {key: value for key, value in item.items() if key != "documentation" or not isinstance(value, str)}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
