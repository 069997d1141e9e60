"""The model's own processor and chat template, as transformers runs them, built from the files of a layer."""

import json
import os
from pathlib import Path
from typing import Any

# Set before the library is loaded: all it needs is in the layer, and its advice is for people at a terminal.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import transformers
from PIL import Image as Pillow

from tokencount.adapters.chat_template import TEMPLATE_FAULTS, refusal
from tokencount.adapters.model_files import BrokenLayer
from tokencount.domain.chat import Chat
from tokencount.domain.model import TemplateRules


class ModelProcessor:
    """Renders, preprocesses and encodes.

    Args:
        processor: one of transformers' processors with an image processor and a tokenizer.
    """

    def __init__(self, processor: Any) -> None:
        self.pretrained = processor
        self._where = _where(processor.image_processor)

    def render(self, chat: Chat) -> str:
        """The prompt of `chat`, one placeholder an image.

        Raises:
            InvalidRequest: the template refuses the chat.
        """
        try:
            prompt: str = self.pretrained.apply_chat_template(
                chat.messages,
                tools=chat.tools,
                add_generation_prompt=not chat.continues,
                continue_final_message=chat.continues,
                **chat.options,
            )
        except TEMPLATE_FAULTS as error:
            raise refusal(error) from error
        return prompt

    def expand(self, picture: Pillow.Image) -> str:
        """What stands in the prompt for an image, once it is preprocessed as for the model.

        Raises:
            ValueError: the processor refuses the image.
        """
        inputs = self.pretrained.image_processor(picture, **self._where)
        expansion: str = self.pretrained.replace_image_token(inputs, image_idx=0)
        return expansion

    def count(self, prompt: str, expansions: list[str]) -> int:
        """The tokens of a prompt with its images' placeholders expanded, none added."""
        [text], _ = self.pretrained.get_text_with_replacements([prompt], images_replacements=expansions)
        return len(self.pretrained.tokenizer(text, add_special_tokens=False)["input_ids"])


def load_processor(folder: Path, rules: TemplateRules) -> ModelProcessor:
    """The processor that the layer at `folder` names.

    Raises:
        BrokenLayer: it names none of transformers' processors.
    """
    config = json.loads((folder / "preprocessor_config.json").read_bytes())
    kind = getattr(transformers, config.get("processor_class", ""), None)
    if kind is None:
        raise BrokenLayer(f"{folder / 'preprocessor_config.json'} names no processor of transformers")
    processor = _without_videos(kind)(
        image_processor=transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True),
        tokenizer=transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), **rules.special_tokens
        ),
        chat_template=(folder / "chat_template.jinja").read_text(encoding="utf-8"),
    )
    return ModelProcessor(processor)


def _without_videos(kind: Any) -> Any:
    """The class for text and images alone: no request has a video, and a video processor would need torch."""

    class ImageAndTextProcessor(kind):  # type: ignore[misc]
        @classmethod
        def get_attributes(cls) -> list[str]:
            return [name for name in super().get_attributes() if name != "video_processor"]

    return ImageAndTextProcessor


def _where(image_processor: Any) -> dict[str, str]:
    """What tells the processor to work on the GPU, where there is one; Pillow's backend knows none."""
    if image_processor.backend != "torchvision":
        return {}
    import torch  # noqa: PLC0415 - there where torchvision is

    return {"device": "cuda" if torch.cuda.is_available() else "cpu"}
