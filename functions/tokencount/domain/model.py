"""A model is data: what its manifest says, read once from the layer's `model.json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tokencount.domain.images import ImageRule


@dataclass(frozen=True, slots=True)
class TemplateRules:
    """How the model's chat template wants its messages.

    Args:
        content: whether the template iterates over content parts or takes strings only.
        reasoning_key: the message key under which it reads earlier reasoning.
        thinking: template keywords to pass where the request turns thinking on; empty where there is no such switch.
        missing_description: what a tool without a description gets; None leaves the key out.
        special_tokens: what the template names as `bos_token` and the like.
    """

    content: Literal["parts", "strings"]
    reasoning_key: str
    thinking: Mapping[str, Any]
    missing_description: str | None
    special_tokens: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One served model.

    Args:
        context_length: in tokens.
        tokenizer_revision: 16 hex digits over the layer's files; the same files always have the same one.
        image: None where the model has no vision.
    """

    id: str
    context_length: int
    max_request_bytes: int
    tokenizer_revision: str
    digests: Mapping[str, str]
    template: TemplateRules
    image: ImageRule | None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ModelSpec":
        """The model of a parsed `model.json`.

        Raises:
            KeyError, TypeError: the file lacks a value or has one too many.
        """
        image = data["image"]
        return cls(
            id=data["id"],
            context_length=data["context_length"],
            max_request_bytes=data["max_request_bytes"],
            tokenizer_revision=data["tokenizer_revision"],
            digests=data["digests"],
            template=TemplateRules(**data["template"]),
            image=ImageRule(**image) if image else None,
        )
