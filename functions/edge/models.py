"""The served models, from the file that the layer builder writes beside this one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokencount.domain.errors import ModelNotAvailable, quote

MODELS_FILE = Path(__file__).with_name("models.json")


@dataclass(frozen=True, slots=True)
class Models:
    """What each model is, by its id."""

    by_id: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path = MODELS_FILE) -> "Models":
        """The models of a `models.json`.

        Raises:
            OSError, ValueError: it cannot be read, or names no model.
        """
        by_id = json.loads(path.read_bytes())
        if not by_id:
            raise ValueError(f"{path.name} names no model; `make layers` writes it")
        return cls(by_id)

    def get(self, model: str) -> Mapping[str, Any]:
        """The model of that id.

        Raises:
            ModelNotAvailable: it is not served here.
        """
        if model not in self.by_id:
            message = f"{quote(model)} is not served on this node; GET /v1/infer/models lists the models that are"
            raise ModelNotAvailable(message, param="model")
        return self.by_id[model]

    @property
    def max_request_bytes(self) -> int:
        """What the most generous model takes."""
        return max(int(model["max_request_bytes"]) for model in self.by_id.values())
