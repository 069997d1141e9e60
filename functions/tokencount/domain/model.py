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
        arguments: whether it takes a tool call's arguments as the object itself or as JSON text.
    """

    content: Literal["parts", "strings"]
    reasoning_key: str
    thinking: Mapping[str, Any]
    missing_description: str | None
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    arguments: Literal["object", "string"] = "object"


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """From where on a request is heavy in images and is better counted at the model's endpoint.

    Args:
        images, bytes, pixels: of all images of a request; each is enough by itself.
        fallback: whether the function counts where the endpoint gives no answer.
    """

    images: int = 8
    bytes: int = 2 * 1024 * 1024
    pixels: int = 16_000_000
    fallback: bool = True


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One served model.

    Args:
        context_length: in tokens.
        tokenizer_revision: 16 hex digits over the layer's files; the same files always have the same one.
        image: None where the model has no vision.
        endpoint: None where it asks for none.
        fast_engine: what was found to encode as the model's tokenizer does; None where nothing was.
    """

    id: str
    context_length: int
    max_request_bytes: int
    tokenizer_revision: str
    digests: Mapping[str, str]
    template: TemplateRules
    image: ImageRule | None
    endpoint: EndpointPolicy | None
    fast_engine: str | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ModelSpec":
        """The model of a parsed `model.json`.

        Raises:
            KeyError, TypeError: the file lacks a value or has one too many.
        """
        image, endpoint = data["image"], data["endpoint"]
        return cls(
            id=data["id"],
            context_length=data["context_length"],
            max_request_bytes=data["max_request_bytes"],
            tokenizer_revision=data["tokenizer_revision"],
            digests=data["digests"],
            template=TemplateRules(**data["template"]),
            image=ImageRule(**image) if image else None,
            endpoint=EndpointPolicy(**endpoint) if endpoint is not None else None,
            fast_engine=data["fast_engine"],
        )
