"""Settings of models: which one to train, in which precision, and which objective a folder of weights goes with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Tag, model_validator

from ticlm.core.reading import json_texts
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import Settings, parse
from ticlm.methods.objectives import AnyObjective, Causal, Seq2Seq
from ticlm.methods.timeline import Imported
from ticlm.platform.models import config_bounds

Preset = Literal["tiny", "1b", "3b", "t5-large", "gpt2-large", "tiny-t5", "tiny-gpt2"]
Initialisation = Literal["transformers", "openlm"]
DRAWN_AS_OPENLM = ("1b", "3b")
"""Presets whose random weights are drawn as OpenLM does unless a study says otherwise."""


def _json(value: object) -> object:
    """Turn a configuration, in YAML a mapping, into text in canonical form, which can be hashed strictly."""
    try:
        found = json_texts.read(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"must be a mapping of a config's fields, got {str(value)[:200]!r}")
    config_bounds.check(found)
    try:
        return json.dumps(found, sort_keys=True)
    except (TypeError, RecursionError) as error:  # YAML has dates, sets, and keys of several types
        raise ValueError(f"must have values of JSON alone: {error}") from None


ConfigText = Annotated[str, BeforeValidator(_json, json_schema_input_type=dict[str, Any] | str)]


class PresetModel(Settings):
    """A shape by name (`tiny`, `1b`, `t5-large`, …; `ticlm list models`), with changes to its configuration."""

    kind: Literal["preset"] = "preset"
    name: Preset
    """The shape: `tiny…` for tests and demos, `1b` and `3b` as in TiC-LM, `t5-large` and `gpt2-large` as in CKL."""
    changes: ConfigText = "{}"
    """Fields of the transformers configuration to change."""
    initialisation: Initialisation = "transformers"
    """How random weights are drawn: as `transformers` does for the architecture, or as `openlm` does, which is the
    default for `1b` and `3b`."""

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "initialisation" not in given and given.get("name") in DRAWN_AS_OPENLM:
            return {**given, "initialisation": "openlm"}
        return given

    def without_meaning(self) -> frozenset[str]:
        # 1b had another shape when identities did not contain the initialisation, so there it always counts
        return _as_before(self.initialisation) if self.name != "1b" else frozenset()


class ConfigModel(Settings):
    """Any transformers architecture: its `model_type` and the fields of its configuration."""

    kind: Literal["config"] = "config"
    model_type: str
    """Name of the architecture in transformers, such as `gpt2`."""
    config: ConfigText = "{}"
    """Fields of its configuration."""
    initialisation: Initialisation = "transformers"
    """How random weights are drawn: as `transformers` does for the architecture, or as `openlm` does, which is defined
    for gpt2, gpt_neox, llama, olmo2 and olmoe."""

    def without_meaning(self) -> frozenset[str]:
        return _as_before(self.initialisation)


def _as_before(initialisation: Initialisation) -> frozenset[str]:
    """Return the fields to leave out of an identity: models were once made by `transformers` alone."""
    return frozenset({"initialisation"} if initialisation == "transformers" else ())


class FolderModel(Imported):
    """Weights to start from. With `initial.budget: 0` they are the initial checkpoint itself, of the period `as_of`."""

    kind: Literal["folder"] = "folder"
    grow: Literal["parts", "mean", "random"] | None = None
    """Give the model rows for the new tokens of the corpus's tokenizer, which grew from the model's: the mean of the
    rows of a token's `parts`; or, to compare with, the `mean` of all rows, or `random` rows like these."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset() if self.grow else {"grow"})


def _model_kind(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "preset"))
    return str(getattr(value, "kind", "preset"))


Model = Annotated[
    Annotated[PresetModel, Tag("preset")]
    | Annotated[ConfigModel, Tag("config")]
    | Annotated[FolderModel, Tag("folder")],
    Discriminator(_model_kind, custom_error_type="kind", custom_error_message="kind must be preset, config or folder"),
]


ModelOrName = Annotated[Model, Plain("name", Preset)]
"""A model, for which the name of a preset may stand."""


class Precision(Settings):
    """The number types of a training step."""

    compute: Literal["float32", "bfloat16"] = "float32"
    """Type of activations, and of weights inside a step; weights are kept in float32."""
    reduce: Literal["float32", "bfloat16"] = "float32"
    """Type in which gradients are summed over workers."""


def folder_objective(config: Mapping[str, Any], saved: Mapping[str, Any] | None, where: str) -> AnyObjective:
    """Return the objective of a model folder (`where`) from its config.json and, if it has one, its objective.json.

    A folder that was published after a training names its objective; that of a class of the user's own stands as the
    packaged one for the same architecture. Any other folder gets the objective of its architecture: `causal`, or
    `seq2seq` with the padding token of the configuration. Raises InputError if these cannot be.
    """
    named = saved or {}
    for kind in (Causal, Seq2Seq):
        if named.get("name") == kind.identity_name:
            return parse(kind, named.get("settings", {}), f"{where}/objective.json")
    pairs = named.get("encoder_decoder", config.get("is_encoder_decoder"))
    if not pairs:
        return Causal()
    return parse(Seq2Seq, {"pad": config.get("pad_token_id") or 0}, f"{where}/config.json: pad_token_id")
