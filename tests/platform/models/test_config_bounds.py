"""Configurations that nobody can build a model of, or train one with, are refused before anybody tries."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.models import config_bounds, folder_files
from ticlm.platform.models.settings import ConfigModel, PresetModel


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"num_hidden_layers": 10**7}, "num_hidden_layers must be from 0 to 1,000, got 10,000,000"),
        ({"n_layer": -1}, "n_layer must be from 0 to 1,000, got -1"),
        ({"text_config": {"num_layers": 1001}}, "text_config.num_layers must be from 0 to 1,000, got 1,001"),
        ({"num_decoder_layers": 1e18}, "num_decoder_layers must be from 0 to 1,000"),
        ({"n_layers": 10**40}, "n_layers must be from 0 to 1,000, got a number of more than 30 digits"),
        ({"num_labels": 10**9}, "num_labels must be from 0 to 100,000"),
        ({"resid_pdrop": 1.0}, "resid_pdrop must be at least 0 and below 1, got 1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout must be at least 0 and below 1, got -0.1"),
        ({"dropout_rate": 2}, "dropout_rate must be at least 0 and below 1, got 2"),
        ({"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon is NaN"),
    ],
)
def test_a_number_of_which_no_model_can_be_made_is_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        config_bounds.check(config)
    with pytest.raises(InputError, match=said) as caught:
        parse(ConfigModel, {"model_type": "gpt2", "config": config}, "study")
    assert "\n" not in str(caught.value)


def test_what_models_have_is_taken() -> None:
    sound = {
        "num_hidden_layers": 126,
        "max_position_embeddings": 10_485_760,
        "rope_theta": 5e8,
        "attention_dropout": 0.1,
    }
    config_bounds.check(sound | {"max_window_layers": 10**6, "classifier_dropout": None, "num_labels": 2, "n": [10**9]})
    config_bounds.check_layers({"num_hidden_layers": 2, "max_window_layers": 28}, 20)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, "[" * 100_000, "null", '{"a": 1'])
def test_fields_that_are_no_mapping_are_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(InputError, match="must be a mapping of a config's fields") as caught:
        parse(PresetModel, {"name": "tiny", "changes": text}, "study")
    assert len(str(caught.value)) < 400


def folder(place: Path, config: Any, files: Mapping[str, Any] = MappingProxyType({})) -> Store:
    """A model folder of three empty tensors; further files are named by their stems."""
    entries = {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(3)}
    head = json.dumps(entries | {"__metadata__": {"format": "pt"}}).encode()
    (place / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    (place / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    for name, content in files.items():
        (place / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return Store(place)


def test_more_layers_than_tensors_are_refused(tmp_path: Path) -> None:
    folder_files.check(folder(tmp_path, {"num_hidden_layers": 3}))
    with pytest.raises(InputError, match=r"config\.json: num_hidden_layers is 4, but the weights there are only 3"):
        folder_files.check(folder(tmp_path, {"num_hidden_layers": 4}))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
        ("null", "not the configuration of a model: it must be an object, got null"),
        ([1], "not the configuration of a model: it must be an object, got list"),
        ({"n_layer": 10**7}, "n_layer must be from 0 to 1,000"),
    ],
)
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, config: Any, said: str) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path}/config\.json: {said}"):
        folder_files.check(folder(tmp_path, config))


@pytest.mark.parametrize(
    "file", ["/etc/passwd", "../outside.safetensors", "sub/model.safetensors", "gone.safetensors", "", ".", 5, None, []]
)
@pytest.mark.parametrize("index", ["model.safetensors.index", "pytorch_model.bin.index"])
def test_an_index_names_files_of_its_own_folder(tmp_path: Path, index: str, file: Any) -> None:
    """Others would be loaded, though no hash of the folder knows them."""
    (tmp_path.parent / "outside.safetensors").touch()
    with pytest.raises(InputError, match=rf"{index}\.json: its weight_map names '.*', which is no file of this folder"):
        folder_files.check(folder(tmp_path, {}, {index: {"weight_map": {"a": "model.safetensors", "b": file}}}))


@pytest.mark.parametrize("text", ["null", "[", "[" * 100_000, "{}", '{"weight_map": null}', '{"weight_map": ["a"]}'])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"model\.safetensors\.index\.json: not the index of weights: "):
        folder_files.check(folder(tmp_path, {}, {"model.safetensors.index": text}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello, no tensors",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 9) + b'{"a": 1}',
        b"\x04" + b"\0" * 7 + b"null",
    ],
)
def test_weights_that_are_none_are_refused(tmp_path: Path, data: bytes) -> None:
    store = folder(tmp_path, {})
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(InputError, match=r"model\.safetensors is no safetensors file: "):
        folder_files.check(store)


def test_weights_may_be_links_as_in_a_cache_of_models(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    index = {"model.safetensors.index": {"weight_map": {"a": "model.safetensors"}}}
    folder(tmp_path / "blobs", {"n_layer": 3}, index)
    for file in (tmp_path / "blobs").iterdir():
        (tmp_path / "snapshot" / file.name).symlink_to(f"../blobs/{file.name}")
    folder_files.check(Store(tmp_path / "snapshot"))
