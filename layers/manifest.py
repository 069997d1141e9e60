"""What a model's manifest may say. A manifest is all that is known about a model; no line of Python names one."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

from layers.errors import BuildError

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]


class Closed(BaseModel):
    """A table that holds the listed keys and no other, so that a misspelt one is found."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Template(Closed):
    """How requests are written for the chat template."""

    content: Literal["parts", "strings"]
    reasoning_key: str
    thinking: dict[str, Any] = {}
    missing_description: str | None = None
    special_tokens: dict[str, str] = {}
    arguments: Literal["object", "string"] = "object"


class Tokenizer(Closed):
    """Added tokens that a source's own tokenizer.json may lack; their ids count up from the first."""

    first_added_id: int
    added_tokens: list[str]
    not_special: list[str] = []

    def added(self) -> list[dict[str, Any]]:
        """The added tokens as tokenizer.json writes them."""
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return [
            {"id": number, "content": content, **flags, "special": content not in self.not_special}
            for number, content in enumerate(self.added_tokens, self.first_added_id)
        ]


class TiktokenRanks(Closed):
    """A byte-level BPE tokenizer given as tiktoken's ranks; the digests are of the model's own published files."""

    normalizer: str
    split: str
    vocab_sha256: Digest
    merges_sha256: Digest
    tokenizer_sha256: Digest


class Packaged(Closed):
    """A file inside a package of a registry, as it is, or one value of that JSON file, or made from its ranks.

    Without `own_added_tokens` a tokenizer.json's added tokens are left out, and the manifest's are all there are.
    """

    pypi: Annotated[str, StringConstraints(pattern=r"^[\w.-]+==[\w.+!-]+$")] | None = None
    npm: Annotated[str, StringConstraints(pattern=r"^(@[\w.-]+/)?[\w.-]+@[\w.+-]+$")] | None = None
    sha256: Digest
    member: str
    json_path: list[str | int] | None = None
    tiktoken_ranks: TiktokenRanks | None = None
    own_added_tokens: bool = True

    @model_validator(mode="after")
    def _one_registry_and_one_way(self) -> "Packaged":
        if (self.pypi is None) == (self.npm is None):
            raise ValueError("give one of pypi and npm")
        if self.json_path is not None and self.tiktoken_ranks is not None:
            raise ValueError("give at most one of json_path and tiktoken_ranks")
        return self


class Written(Closed):
    """A small JSON file that the manifest itself holds, written with an indent of 4."""

    json_: dict[str, Any] = Field(alias="json")


class Within(Closed):
    """One value of another JSON file of the same repository."""

    file: FileName
    json_path: list[str | int]


def _kind(recipe: Any) -> str:
    keys = recipe if isinstance(recipe, dict) else {}
    return "written" if "json" in keys else "within" if "file" in keys else "packaged"


_Packaged = Annotated[Packaged, Tag("packaged")]
Recipe = Annotated[_Packaged | Annotated[Written, Tag("written")], Discriminator(_kind)]
HubRecipe = Annotated[_Packaged | Annotated[Within, Tag("within")], Discriminator(_kind)]


class HubSource(Closed):
    """A Hugging Face repository at one commit.

    `originals` are the digests of files that the layer keeps in another form; `files` tells where those are that do not
    lie in the repository under their own names.
    """

    name: Literal["hub"]
    repo: str
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    originals: dict[FileName, Digest] = {}
    files: dict[FileName, HubRecipe] = {}


class PackageSource(Closed):
    """Packages of registries, named after the one that holds the tokenizer."""

    name: Literal["pypi", "npm"]
    files: dict[FileName, Recipe]


class FolderSource(Closed):
    """A folder with the hub's files or the layer's own, relative to the manifest's."""

    name: Literal["folder"]
    path: str


Source = HubSource | PackageSource | FolderSource


class Manifest(Closed):
    """One model: how it is asked, its files and where they come from."""

    id: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
    context_length: Annotated[int, Field(gt=0)]
    max_request_bytes: Annotated[int, Field(gt=0)]
    template: Template
    image: dict[str, Any] | None = None
    endpoint: dict[str, Any] | None = None
    files: dict[FileName, Digest]
    tokenizer: Tokenizer | None = None
    sources: list[Annotated[Source, Field(discriminator="name")]]

    @model_validator(mode="after")
    def _sources_give_every_file(self) -> "Manifest":
        if missing := {"tokenizer.json", "chat_template.jinja"} - set(self.files):
            raise ValueError(f"files lacks {', '.join(sorted(missing))}")
        for source in self.sources:
            if isinstance(source, PackageSource) and set(source.files) != set(self.files):
                raise ValueError(f"the source {source.name} does not give exactly the files that are listed")
        return self

    def originals(self) -> dict[str, set[Digest]]:
        """For each file, the digests under which the hub or a folder may hold it."""
        accepted = {file: {digest} for file, digest in self.files.items()}
        for source in self._hubs():
            for file, digest in source.originals.items():
                accepted[file].add(digest)
        return accepted

    def within(self, file: str) -> Within | None:
        """Where a repository holds that file inside another; None where it is one of its own."""
        places = [source.files.get(file) for source in self._hubs()]
        return next((place for place in places if isinstance(place, Within)), None)

    def _hubs(self) -> list[HubSource]:
        return [source for source in self.sources if isinstance(source, HubSource)]


def read_manifest(path: Path) -> Manifest:
    """The manifest in that file; raises BuildError with the first fault and its place."""
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(step) for step in fault["loc"]) or "the manifest"
        raise BuildError(f"{path}: {place}: {fault['msg']}") from error
