"""The experiment file: models x data x seeds x variants, declared in TOML or JSON."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator
from pydantic_core import PydanticCustomError


def _number(value: object) -> Real:
    """Refuse what is no number with one fault; pydantic takes a boolean for 0 or 1."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise PydanticCustomError("number", "give a number, such as 1")
    return value


def _plain_names(value: object) -> object:
    """Let a plain name stand for a model without settings."""
    if not isinstance(value, list | tuple):
        return value
    models = []
    for entry in value:
        if isinstance(entry, str):
            entry = {"name": entry}
        models.append(entry)
    return models


Name = Annotated[str, Field(min_length=1, pattern=r"^[\w][\w .,+-]*$")]
Seed = Annotated[int, Field(ge=0, lt=2**31), BeforeValidator(_number)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_number)]
Knob = Annotated[int | float, BeforeValidator(_number)]
Settings = dict[str, Any]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Model(_Entry):
    """A system of the comparison."""

    name: str
    """Name in the registry of forecasters, such as "sphunc" or "hypergcn"."""
    label: Name | None = None
    """How it is called in the table; lets one system stand there twice with different settings."""
    settings: Settings = {}
    """Settings that are fixed, and so not tuned."""

    @property
    def called(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name


class WorldData(_Entry):
    """A simulated world; every seed of the matrix gives another one."""

    world: str
    """Preset: snare, pheme, amigos, financial or collaboration."""
    knobs: dict[str, Knob] = {}
    """Any knob of a world, such as ``times = 12`` or ``agents = 500``."""
    label: Name | None = None
    """How it is called in the table."""

    @property
    def called(self) -> str:
        """The label, or the preset where there is none."""
        return self.label or self.world


class TableData(_Entry):
    """A folder with tables of one's own (features, groups, outcomes, influence)."""

    tables: Path
    """The folder, relative to the experiment file; ``$NAME`` and ``~`` are expanded."""
    options: Settings = {}
    """What :func:`sphunc.read_tables` takes."""
    label: Name | None = None
    """How it is called in the table."""

    @property
    def called(self) -> str:
        """The label, or the name of the folder where there is none."""
        return self.label or self.tables.name


class OfficialData(_Entry):
    """One of the paper's data sets, from the user's own copy of its official files."""

    dataset: Literal["pheme", "snare", "amigos", "financial", "collaboration"]
    """Its name."""
    root: Path
    """Folder of the files, relative to the experiment file; ``$NAME`` and ``~`` are expanded."""
    options: Settings = {}
    """What :func:`sphunc.load_dataset` takes."""
    label: Name | None = None
    """How it is called in the table."""

    @property
    def called(self) -> str:
        """The label, or the name of the data set with a word that separates it from the world of that name."""
        return self.label or f"{self.dataset} data"


KINDS: dict[str, type[_Entry]] = {"world": WorldData, "tables": TableData, "dataset": OfficialData}
"""The field that says what kind of data an entry is, and the entry."""


def _kind_of(value: object) -> str | None:
    if isinstance(value, _Entry):
        value = value.model_fields_set
    if isinstance(value, dict | set):
        for kind in KINDS:
            if kind in value:
                return kind
    return None


DataEntry = WorldData | TableData | OfficialData
Data = Annotated[
    Annotated[WorldData, Tag("world")] | Annotated[TableData, Tag("tables")] | Annotated[OfficialData, Tag("dataset")],
    Discriminator(_kind_of),
]


class Variant(_Entry):
    """A change that some or all models are measured under, such as a row of a table of ablations."""

    name: Name
    """How it is called."""
    models: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names or labels of the models that it applies to; all of them unless given."""
    settings: Settings = {}
    """Settings on top of those of the model."""
    horizon: Count | None = None
    """Steps ahead, where they differ from those of the matrix."""

    def applies_to(self, model: Model) -> bool:
        """Whether a model is measured under this variant."""
        return self.models is None or model.called in self.models


class Matrix(_Entry):
    """Everything that is measured: each model on each data set, with each seed, under each variant."""

    name: Name
    """Names the folder of the results."""
    models: Annotated[tuple[Model, ...], Field(min_length=1)]
    """Systems; a plain name stands for ``{ name = "..." }``."""
    data: Annotated[tuple[Data, ...], Field(min_length=1)]
    """Worlds, folders of tables, official data sets."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    """One cell per seed; it seeds the world and the model."""
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)] = (Variant(name="default"),)
    """Changes under which everything is measured again."""
    horizon: Count = 1
    """Steps ahead."""
    trials: Count = 1
    """Settings that every model may try, compared by validation NLL; 1 takes the defaults. Equal for all."""
    attribution: bool = True
    """Whether links are also read out by the one attribution that all systems share; costly with many agents."""
    reference: str = ""
    """The system that the others are tested against, by name or label; SphUnc if it is there, else the first."""

    _models = field_validator("models", mode="before")(_plain_names)
