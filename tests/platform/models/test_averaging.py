"""Averages of model folders against a slow mean in float64: any type, any shards, any block, the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.models import averaging

SHARES = (0.2, 0.3, 0.5)
SHAPES = {"head.weight": (7, 5), "bias": (3,), "scale": (), "nothing": (0, 4)}


def folder(place: Path, seed: int, dtype: torch.dtype = torch.float32, shards: int = 1) -> dict[str, Tensor]:
    """Write a model folder of random weights, spread over files, and return them."""
    made = torch.Generator().manual_seed(seed)
    tensors = {name: torch.randn(shape, generator=made).to(dtype) for name, shape in SHAPES.items()}
    tensors["mask"] = torch.tensor([seed, 1])
    place.mkdir(parents=True)
    (place / "config.json").write_text(f'{{"seed": {seed}}}')
    for i in range(shards):
        names = list(tensors)[i::shards]
        save_file({name: tensors[name] for name in names}, place / f"model-{i}.safetensors", metadata={"format": "pt"})
    return tensors


def slow(models: list[Mapping[str, Tensor]], dtype: torch.dtype) -> dict[str, Tensor]:
    found = {}
    for name in SHAPES:
        total = torch.zeros(SHAPES[name], dtype=torch.float64)
        for model, share in zip(models, SHARES):
            total = total + model[name].double() * share
        found[name] = total.to(dtype)
    return found


def averaged(store: Store, target: Path) -> dict[str, Tensor]:
    averaging.average(store, list(zip("abc", SHARES)), target)
    return {name: value for file in sorted(target.glob("*.safetensors")) for name, value in load_file(file).items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_the_mean_is_that_of_a_slow_one_in_float64(tmp_path: Path, dtype: torch.dtype) -> None:
    models = [folder(tmp_path / name, seed, dtype) for seed, name in enumerate("abc")]
    found = averaged(Store(tmp_path), tmp_path / "new")
    assert all(torch.equal(found[name], value) for name, value in slow([*models], dtype).items())
    assert found["mask"].tolist() == [2, 1] and (tmp_path / "new/config.json").read_text() == '{"seed": 2}'


def test_types_and_files_of_the_parts_may_differ(tmp_path: Path) -> None:
    kinds = [(torch.bfloat16, 1), (torch.float16, 3), (torch.float32, 2)]
    models = [folder(tmp_path / name, i, *kinds[i]) for i, name in enumerate("abc")]
    found = averaged(Store(tmp_path), tmp_path / "new")
    assert all(torch.equal(found[name], value) for name, value in slow([*models], torch.float32).items())
    assert {file.name for file in (tmp_path / "new").glob("*.safetensors")} == {
        "model-0.safetensors",
        "model-1.safetensors",
    }


@pytest.mark.parametrize("block", [1, 4, 1000])
def test_the_size_of_a_block_changes_no_byte(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, name in enumerate("abc"):
        folder(tmp_path / name, seed)
    averaged(Store(tmp_path), tmp_path / "one")
    monkeypatch.setattr(averaging, "BLOCK", block)
    averaged(Store(tmp_path), tmp_path / "other")
    first, second = ((tmp_path / name / "model-0.safetensors").read_bytes() for name in ("one", "other"))
    assert first == second


def test_one_checkpoint_with_itself_is_itself(tmp_path: Path) -> None:
    models = [folder(tmp_path / name, 1) for name in "abc"]
    found = averaged(Store(tmp_path), tmp_path / "new")
    assert all(torch.equal(found[name], value) for name, value in models[0].items())


def test_subfolders_are_averaged_apart(tmp_path: Path) -> None:
    """The files of peft name weights alike, one folder for each adapter."""
    for seed, name in enumerate("abc"):
        folder(tmp_path / name, seed)
        for depth in range(2):
            (tmp_path / name / f"peft/{depth}").mkdir(parents=True)
            save_file(
                {"w": torch.full((2,), float(seed + 10 * depth))}, tmp_path / name / f"peft/{depth}/a.safetensors"
            )
    averaged(Store(tmp_path), tmp_path / "new")
    found = [load_file(tmp_path / f"new/peft/{depth}/a.safetensors")["w"].tolist() for depth in range(2)]
    assert found == [pytest.approx([1.3, 1.3]), pytest.approx([11.3, 11.3])]


def test_a_bucket_is_read_by_ranges_and_gives_the_same_bytes(
    tmp_path: Path, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Store(f"{s3_bucket}/root")
    for seed, name in enumerate("abc"):
        folder(tmp_path / name, seed)
        remote.upload(tmp_path / name, name)
    averaged(Store(tmp_path), tmp_path / "here")
    monkeypatch.delattr(Store, "local")  # no folder is copied
    averaged(remote, tmp_path / "there")
    first, second = ((tmp_path / name / "model-0.safetensors").read_bytes() for name in ("here", "there"))
    assert first == second


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bias": torch.zeros(4)}, r"weights bias are F32 \[3\] and F32 \[4\]"),
        ({"bias": None}, r"weights bias are F32 \[3\] and nothing"),
        ({"more": torch.zeros(2)}, r"weights more are nothing and F32 \[2\]"),
        ({"mask": torch.zeros(2)}, r"weights mask are I64 \[2\] and F32 \[2\]"),
    ],
)
def test_other_tensors_are_refused_in_one_line(tmp_path: Path, changed: Mapping[str, Tensor | None], said: str) -> None:
    models = [folder(tmp_path / name, seed) for seed, name in enumerate("abc")]
    tensors = {name: value for name, value in {**models[0], **changed}.items() if value is not None}
    save_file(tensors, tmp_path / "a/model-0.safetensors")
    with pytest.raises(InputError, match=said) as error:
        averaged(Store(tmp_path), tmp_path / "new")
    assert "\n" not in str(error.value) and not (tmp_path / "new").exists()


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    for seed, name in enumerate("abc"):
        folder(tmp_path / name, seed)
    file = tmp_path / "b/model-0.safetensors"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match=r"b/model-0\.safetensors is damaged"):
        averaged(Store(tmp_path), tmp_path / "new")
    file.write_bytes(b"\xff\xff\xff\xff\x00\x00\x00\x00{")
    with pytest.raises(InputError, match=r"b/model-0\.safetensors is no safetensors file"):
        averaged(Store(tmp_path), tmp_path / "new")
