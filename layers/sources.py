"""From a manifest's source to the layer's files, verified and in canonical form."""

import json
from pathlib import Path
from typing import Any

from layers.canonical import canonical_tokenizer, without_added_tokens
from layers.downloads import Downloads, sha256
from layers.errors import DigestError, SourceError
from layers.hub import fetch_from_hub
from layers.manifest import FolderSource, HubSource, Manifest, Packaged, PackageSource, Source, Written
from layers.packages import package_file
from layers.ranks import tokenizer_from_ranks


def files_from(source: Source, manifest: Manifest, folder: Path, downloads: Downloads) -> dict[str, bytes]:
    """All files of a layer from one source; `folder` is the manifest's. Raises SourceError if it cannot give them."""
    match source:
        case HubSource():
            files = {file: _hub_file(source, file, manifest, downloads) for file in manifest.files}
        case PackageSource():
            files = {file: _package_file(source.files[file], manifest, downloads) for file in manifest.files}
        case FolderSource():
            files = {file: _folder_file(folder / source.path, file, manifest) for file in manifest.files}
    added = _added(manifest)
    files["tokenizer.json"] = canonical_tokenizer(files["tokenizer.json"], added)
    for file, digest in manifest.files.items():
        if (got := sha256(files[file])) != digest:
            raise SourceError(f"{file} made from this source has the SHA-256 {got}, not {digest} as the manifest says")
    return files


def _added(manifest: Manifest) -> list[dict[str, Any]]:
    return manifest.tokenizer.added() if manifest.tokenizer else []


def _hub_file(source: HubSource, file: str, manifest: Manifest, downloads: Downloads) -> bytes:
    recipe = source.files.get(file)
    if isinstance(recipe, Packaged):
        return _package_file(recipe, manifest, downloads)
    digest = source.originals.get(file, manifest.files[file])
    kept = downloads.get(digest)
    if kept is not None:
        return kept
    print(f"  fetching {file}", flush=True)
    data = fetch_from_hub(source, recipe.file if recipe else file)
    if recipe:
        data = _json_value(data, recipe.json_path, recipe.file)
    return downloads.put(data, digest, file=file, source=f"the hub's {source.repo}")


def _package_file(spec: Packaged | Written, manifest: Manifest, downloads: Downloads) -> bytes:
    if isinstance(spec, Written):
        return json.dumps(spec.json_, indent=4).encode()
    data = package_file(spec, downloads)
    if spec.tiktoken_ranks:
        print("  recovering the merges of the tokenizer", flush=True)
        return tokenizer_from_ranks(data, spec.tiktoken_ranks, _added(manifest))
    if not spec.own_added_tokens:
        return without_added_tokens(data)
    return data if spec.json_path is None else _json_value(data, spec.json_path, spec.member)


def _json_value(data: bytes, path: list[str | int], file: str) -> bytes:
    try:
        value = json.loads(data)
        for step in path:
            value = value[step]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SourceError(f"{file} has no value at {path}") from error
    if not isinstance(value, str):
        raise SourceError(f"{file} has no text at {path}")
    return value.encode()


def _folder_file(folder: Path, file: str, manifest: Manifest) -> bytes:
    path, within = folder / file, manifest.within(file)
    try:
        if within and not path.exists():
            data = _json_value((folder / within.file).read_bytes(), within.json_path, str(folder / within.file))
        else:
            data = path.read_bytes()
    except FileNotFoundError as error:
        raise SourceError(f"there is no {error.filename}") from error
    accepted = manifest.originals()[file]
    if (got := sha256(data)) not in accepted:
        raise DigestError(file, str(folder), " or ".join(sorted(accepted)), got)
    return data
