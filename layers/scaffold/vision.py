"""The image rule from a model's processor configuration, where the rule of its processor is known."""

from collections.abc import Callable, Mapping
from typing import Any

from layers.scaffold.probe import Probe

Config = Mapping[str, Any]


class UnknownRuleError(Exception):
    """Images cannot be counted for this model; says why."""


def image_rule(processor: Config, tokenizer: Config, probe: Probe) -> dict[str, Any]:
    """The manifest's image table.

    Args:
        processor: `preprocessor_config.json`, over what `processor_config.json` says.
        tokenizer: `tokenizer_config.json`, which may name the image's tokens.

    Raises:
        UnknownRuleError: the rule is not known, or the template does not write what the processor looks for.
    """
    kind = str(processor.get("image_processor_type", ""))
    known = RULES.get(kind.removesuffix("Fast"))
    if known is None:
        raise UnknownRuleError(f"the image rule of {kind or 'its processor'} is not known")
    try:
        rule = known(processor, tokenizer)
    except (KeyError, TypeError, ValueError) as error:
        raise UnknownRuleError(f"the configuration of {kind} is not in a known form ({error!r})") from error
    if not probe.takes_parts() or not probe.writes_for_an_image(rule["placeholder"]):
        raise UnknownRuleError(f"the chat template does not write one {rule['placeholder']} for an image part")
    return rule


def _smart_resize(processor: Config, tokenizer: Config) -> dict[str, Any]:
    size = processor.get("size") or {}
    token = tokenizer.get("image_token", "<|image_pad|>")
    return {
        "rule": "smart_resize",
        "placeholder": token,
        "expansion": token,
        "patch_size": int(processor["patch_size"]),
        "merge_size": int(processor["merge_size"]),
        "min_pixels": int(size["shortest_edge"] if "shortest_edge" in size else processor["min_pixels"]),
        "max_pixels": int(size["longest_edge"] if "longest_edge" in size else processor["max_pixels"]),
        "max_ratio": 200,
    }


def _fixed_sequence(processor: Config, tokenizer: Config) -> dict[str, Any]:
    if processor.get("do_pan_and_scan"):
        raise ValueError("it cuts images into several")
    begin, soft, end = (tokenizer[name] for name in ("boi_token", "image_token", "eoi_token"))
    return {
        "rule": "fixed",
        "tokens": int(processor["image_seq_length"]),
        "placeholder": begin,
        "expansion": f"\n\n{begin}{soft}{end}\n\n",
    }


# By transformers' name of the image processor.
RULES: dict[str, Callable[[Config, Config], dict[str, Any]]] = {
    "Gemma3ImageProcessor": _fixed_sequence,
    "Qwen2VLImageProcessor": _smart_resize,
}
