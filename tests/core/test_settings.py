"""Settings: read from YAML, overridden, refused in one line, hashed strictly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from paths import ROOT
from pydantic import Field, ValidationError, model_validator

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import SharedParts, fingerprint, fingerprints
from ticlm.core.reading.packaged import holders
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import RECIPES, Settings, load, merged, packaged, parse, resolved
from ticlm.platform.study.identity import Data


class Square(Settings):
    kind: Literal["square"] = "square"
    side: float = Field(1.0, gt=0)


class Circle(Settings):
    kind: Literal["circle"] = "circle"
    radius: float = 1.0


class Drawing(Settings):
    name: str
    size: int = Field(1, gt=0)
    first: Annotated[Square | Circle, Field(discriminator="kind")] = Square()
    shapes: tuple[Annotated[Square | Circle, Field(discriminator="kind")], ...] = ()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def writer(text: str) -> str:
        (tmp_path / "drawing.yaml").write_text(text)
        return str(tmp_path / "drawing.yaml")

    return writer


def read(path: str, *sets: str) -> Drawing:
    return load(Drawing, path, "platform/studies", sets)


def refusal(action: Callable[[], object]) -> str:
    """The message of the InputError that `action` must raise; it has one line."""
    with pytest.raises(InputError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message and caught.value.exit_code == 2
    return message


# reading


YAML = "name: a\nshapes:\n- {kind: square, side: 2}\n- {kind: circle, radius: 3}\n"


def test_yaml_becomes_the_settings_it_names(write: Callable[[str], str]) -> None:
    got = read(write(YAML))
    assert got == Drawing(name="a", shapes=(Square(side=2.0), Circle(radius=3.0)))
    assert type(got.shapes[1]) is Circle


def test_a_file_may_be_named_by_a_uri(write: Callable[[str], str]) -> None:
    assert read(f"file://{write(YAML)}") == read(write(YAML))


def test_a_packaged_file_is_named_without_its_ending() -> None:
    assert "demo" in packaged("platform/studies")
    message = refusal(lambda: load(Drawing, "demo", "platform/studies"))
    assert message.startswith("demo (packaged): ")  # it was found, and is no drawing


def test_the_variants_of_a_packaged_file_are_files_of_their_own() -> None:
    """Names are found in the text of a file, without reading it as YAML."""
    held = holders(RECIPES)
    for path in (ROOT / RECIPES).glob("*.yaml"):
        variants = yaml.safe_load(path.read_text()).get("variants", {path.stem: {}})
        assert {name for name, file in held.items() if file == path.stem} == variants.keys()
        for name, own in variants.items():
            given, where = resolved(Settings, name, RECIPES)
            assert given["name"] == name and "variants" not in given and where == f"{name} (packaged)"
            assert merged(given, own) == given


def test_a_packaged_file_with_variants_is_no_file_without_one(write: Callable[[str], str]) -> None:
    assert refusal(lambda: load(Drawing, "kilt-dev", RECIPES)).startswith(
        "kilt-dev: give one of its variants: kilt-ay2"
    )
    given, _ = resolved(Drawing, write("extends: kilt-nq\nname: mine\n"), RECIPES)
    assert given["name"] == "mine" and given["rows"]["inputs"] == 35
    assert "variants" in refusal(lambda: read(write("name: a\nvariants: {b: {size: 2}}\n")))


def test_a_name_that_is_nowhere_is_answered_with_those_there_are() -> None:
    assert refusal(lambda: read("nowhere")).endswith(
        f"no packaged name; ticlm list studies names the {len(packaged('platform/studies'))} that are packaged"
    )


@pytest.mark.parametrize("name", ["folder/nowhere.yaml", "file:///nowhere/at/all.yaml", "nonsense://x/y.yaml"])
def test_a_path_that_is_nowhere_is_refused(name: str) -> None:
    assert name in refusal(lambda: read(name))


def test_a_folder_or_a_binary_file_is_no_settings_file(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe\x00")
    assert "weights.bin: cannot be read" in refusal(lambda: read(str(tmp_path / "weights.bin")))
    assert str(tmp_path) in refusal(lambda: read(str(tmp_path)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [a", "not valid YAML"),
        ("name: a\n\tsize: 2", "not valid YAML"),
        ("- a\n- b", "expected a mapping of settings, got list"),
        ("", "expected a mapping of settings, got NoneType"),
        ("name: 2026-13-45", "not valid YAML: a value cannot be read: month must be in 1..12"),
        ("size: !!int many", "not valid YAML: a value cannot be read"),
    ],
)
def test_broken_yaml_is_refused_with_the_name_of_the_file(write: Callable[[str], str], text: str, said: str) -> None:
    path = write(text)
    assert refusal(lambda: read(path)).startswith(f"{path}: {said}")


# --set


def test_set_reaches_nested_keys_and_places_in_lists(write: Callable[[str], str]) -> None:
    got = read(write(YAML), "name=b", "shapes.0.side=5", "shapes.1={kind: square, side: 7}", "first.kind=circle")
    assert got == Drawing(name="b", shapes=(Square(side=5.0), Square(side=7.0)), first=Circle())


def test_set_makes_the_parents_that_a_file_leaves_out(write: Callable[[str], str]) -> None:
    assert read(write("name: a"), "first.kind=square", "first.side=2").first == Square(side=2.0)


def test_a_later_set_wins(write: Callable[[str], str]) -> None:
    assert read(write(YAML), "size=2", "size=3").size == 3


def test_a_value_is_read_as_yaml(write: Callable[[str], str]) -> None:
    assert read(write(YAML), "shapes=[]").shapes == ()
    assert read(write(YAML), "first={kind: circle, radius: 1e-4}").first == Circle(radius=0.0001)
    assert read(write(YAML), "name=x=y").name == "x=y"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("size", "--set size: expected KEY.KEY=VALUE"),
        ("=3", "--set =3: expected KEY.KEY=VALUE"),
        ("size=[1", "--set size=[1: '[1' is not a YAML value"),
        ("name.a=1", "--set name.a=1: name is 'a', it has no keys to set"),
        ("shapes.2.side=1", "--set shapes.2.side=1: 2 is not a position in a list of 2 (0 to 1)"),
        ("shapes.-1.side=1", "--set shapes.-1.side=1: -1 is not a position in a list of 2 (0 to 1)"),
        ("shapes.².side=1", "--set shapes.².side=1: ² is not a position in a list of 2 (0 to 1)"),
        ("shapes..side=1", "--set shapes..side=1: expected KEY.KEY=VALUE"),
        ("shapes.=1", "--set shapes.=1: expected KEY.KEY=VALUE"),
        ("size=2026-13-45", "--set size=2026-13-45: '2026-13-45' is not a YAML value"),
        ("shapes.x=1", "--set shapes.x=1: x is not a position in a list of 2 (0 to 1)"),
    ],
)
def test_an_assignment_to_nowhere_is_refused(write: Callable[[str], str], assignment: str, said: str) -> None:
    assert refusal(lambda: read(write(YAML), assignment)) == said


class Framed(Settings):
    """Settings whose drawings may be given by their kind alone."""

    best: Annotated[Square | Circle, Field(discriminator="kind"), Plain("kind")] = Square()
    all: tuple[Annotated[Square | Circle, Field(discriminator="kind"), Plain("kind")], ...] = ()
    named: dict[str, Annotated[Circle, Plain("kind")]] = Field(default_factory=dict)
    title: str | None = None


def framed(path: str, *sets: str) -> Framed:
    return load(Framed, path, "platform/studies", sets)


def test_a_plain_text_becomes_what_it_stands_for_when_a_part_of_it_is_set(write: Callable[[str], str]) -> None:
    path = write("best: circle\nall: [square, circle]\nnamed: {a: circle}")
    assert framed(path) == Framed(best=Circle(), all=(Square(), Circle()), named={"a": Circle()})
    got = framed(path, "best.radius=3", "all.1.radius=4", "named.a.radius=5")
    assert got == Framed(best=Circle(radius=3), all=(Square(), Circle(radius=4)), named={"a": Circle(radius=5)})


def test_a_text_that_stands_for_nothing_has_no_keys_to_set(write: Callable[[str], str]) -> None:
    path = write("title: x\nall: [square]\nbest: circle")
    assert refusal(lambda: framed(path, "title.a=1")) == "--set title.a=1: title is 'x', it has no keys to set"
    assert "best.radius is 2, it has no keys" in refusal(lambda: framed(path, "best.radius=2", "best.radius.a=1"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\nsize: 1\nsize: 2", "size is given twice, on lines 2 and 3; keep one of them"),
        ("name: a\nfirst:\n  side: 1\n  side: 1", "side is given twice, on lines 3 and 4; keep one of them"),
        ("name: a\nfirst: {side: 1, side: 2}", "side is given twice, on line 2; keep one of them"),
        ('name: a\nshapes:\n- {side: 1}\n- {"side": 1, side: 2}', "side is given twice, on line 4; keep one of them"),
    ],
)
def test_a_repeated_key_is_refused_with_its_lines(write: Callable[[str], str], text: str, said: str) -> None:
    path = write(text)
    assert refusal(lambda: read(path)) == f"{path}: {said}"


def test_a_repeated_key_is_refused_wherever_it_is_written(write: Callable[[str], str], tmp_path: Path) -> None:
    path = write("name: a")
    assert "side is given twice, on line 1" in refusal(lambda: read(path, "first={side: 1, side: 2}"))
    (tmp_path / "part.yaml").write_text("extends: drawing.yaml\nsize: 1")
    write("name: a\nname: b")
    assert "drawing.yaml: name is given twice, on lines 1 and 2" in refusal(lambda: read(f"{tmp_path}/part.yaml"))


def test_a_key_may_replace_one_that_is_merged_in(write: Callable[[str], str]) -> None:
    """That is what `<<` is for; an alias is one mapping, however often it is used."""
    text = "name: a\nfirst: &one {kind: square, side: 2}\nshapes:\n- *one\n- {<<: *one, side: 3}\n- *one"
    assert [shape.side for shape in read(write(text)).shapes if isinstance(shape, Square)] == [2, 3, 2]


# extends


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes settings files, named by their paths below a folder: `folder(**{"a/b.yaml": "name: x"})`."""

    def writer(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return writer


def test_a_file_is_merged_into_the_one_it_extends(folder: Callable[..., Path]) -> None:
    whole = "name: a\nsize: 3\nfirst: {kind: square, side: 2}\nshapes: [{kind: square}, {kind: circle}]"
    part = "extends: whole.yaml\nname: b\nfirst: {side: 5}\nshapes: [{kind: circle, radius: 4}]"
    got = read(f"{folder(whole=whole, part=part)}/part.yaml")
    assert got == Drawing(name="b", size=3, first=Square(side=5.0), shapes=(Circle(radius=4.0),))


def test_what_is_extended_may_extend_another(folder: Callable[..., Path]) -> None:
    root = folder(a="name: a\nsize: 1", b="extends: a.yaml\nsize: 2", c="extends: b.yaml\nname: c")
    assert read(f"{root}/c.yaml") == Drawing(name="c", size=2)


def test_nothing_of_what_is_extended_is_changed_by_it(folder: Callable[..., Path]) -> None:
    root = folder(whole="name: a\nfirst: {kind: square, side: 2}", part="extends: whole.yaml\nfirst: {side: 3}")
    assert read(f"{root}/part.yaml", "first.side=4").first == Square(side=4.0)
    assert read(f"{root}/whole.yaml").first == Square(side=2.0)


def test_a_part_of_another_kind_replaces(folder: Callable[..., Path]) -> None:
    """Merged, it would still have the side of the square, which no circle has."""
    root = folder(
        whole="name: a\nfirst: {kind: square, side: 2}", part="extends: whole.yaml\nfirst: {kind: circle, radius: 3}"
    )
    assert read(f"{root}/part.yaml").first == Circle(radius=3.0)


def test_a_part_of_another_shape_replaces(folder: Callable[..., Path]) -> None:
    root = folder(whole="name: a\nshapes: [{kind: square}]", part="extends: whole.yaml\nshapes: []")
    assert read(f"{root}/part.yaml").shapes == ()


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_relative_path_counts_from_the_file_that_names_it(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    files = {"base": "name: near", "deep/base": "name: wrong", "deep/part": "extends: ../base.yaml"}
    root = folder(**files)
    monkeypatch.chdir(root / "deep")
    assert read(f"{scheme}{root}/deep/part.yaml").name == "near"
    if not scheme:
        assert read("part.yaml").name == "near"


def test_an_absolute_path_and_a_uri_are_extended_as_they_stand(folder: Callable[..., Path]) -> None:
    root = folder(base="name: far")
    folder(**{"deep/a": f"extends: {root}/base.yaml", "deep/b": f"extends: file://{root}/base.yaml"})
    assert read(f"{root}/deep/a.yaml").name == read(f"{root}/deep/b.yaml").name == "far"


def test_a_packaged_file_is_extended_by_its_name(folder: Callable[..., Path]) -> None:
    root = folder(part="extends: demo\nname: mine")
    message = refusal(lambda: read(f"{root}/part.yaml"))
    assert "corpus: unknown key" in message  # what demo has, and a drawing has not


def test_set_is_applied_to_what_was_merged(folder: Callable[..., Path]) -> None:
    root = folder(whole="name: a\nfirst: {kind: square, side: 2}", part="extends: whole.yaml")
    assert read(f"{root}/part.yaml", "first.side=7").first == Square(side=7.0)
    assert "extends: unknown key" in refusal(lambda: read(f"{root}/whole.yaml", "extends=part.yaml"))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": "extends: a.yaml"}, "/a.yaml: extends: {0}/a.yaml: extends itself"),
        (
            {"a": "extends: b.yaml", "b": "extends: ./a.yaml"},
            "/a.yaml: extends: {0}/b.yaml: extends: {0}/a.yaml: extends itself",
        ),
        (
            {"a": "extends: nowhere"},
            "/a.yaml: extends: {0}/nowhere: no such file, and no packaged name; ticlm list studies ",
        ),
        ({"a": "extends: [b.yaml]"}, "/a.yaml: extends: expected the name of one settings file, got ['b.yaml']"),
        ({"a": "extends:"}, "/a.yaml: extends: expected the name of one settings file, got None"),
        (
            {"a": "extends: b.yaml", "b": "- 1"},
            "/a.yaml: extends: {0}/b.yaml: expected a mapping of settings, got list",
        ),
        ({"a": "extends: b.yaml", "b": "name: ["}, "/a.yaml: extends: {0}/b.yaml: not valid YAML"),
        ({"a": "extends: b.yaml", "b": "nam: x"}, "/a.yaml: nam: unknown key (did you mean name?); allowed: first, "),
    ],
)
def test_what_cannot_be_extended_is_refused_with_the_files_that_led_there(
    folder: Callable[..., Path], files: dict[str, str], said: str
) -> None:
    root = folder(**files)
    assert refusal(lambda: read(f"{root}/a.yaml")).startswith(f"{root}{said.replace('{0}', str(root))}")


# errors


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"name": "a", "sise": 2}, "sise: unknown key (did you mean size?); allowed: first, name, shapes, size"),
        (
            {"name": "a", "first": {"kind": "circle", "side": 2}},
            "first.side: unknown key; allowed: kind, radius",
        ),
        (
            {"name": "a", "shapes": [{"kind": "square"}, {"kind": "square", "radius": 2}]},
            "shapes.1.radius: unknown key; allowed: kind, side",
        ),
        ({}, "name: is required"),
        ({"name": "a", "size": 0}, "size: must be greater than 0, got 0"),
        ({"name": "a", "size": "many"}, "got 'many'"),
        ({"name": "a", "first": {"kind": "star"}}, "'square', 'circle'"),
        ({"name": "a", "first": {"side": 2}}, "first: kind is required"),
        ({"size": 0}, "name: is required (1 more key is wrong)"),
        (
            {"nane": "a", "size": 0},
            "nane: unknown key (did you mean name?); allowed: first, name, shapes, size (2",
        ),
        ({"name": "a", "colour": 2}, "colour: unknown key; allowed: first, name, shapes, size"),
        ({"name": "a", "size": "many"}, "size: must be a whole number, got 'many'"),
        ({"name": 7}, "name: must be a text, got 7"),
        ({"name": "a", "shapes": 7}, "shapes: must be a list, got 7"),
        ({"name": "a", "first": {"kind": "star"}}, "first: kind must be one of 'square', 'circle', got 'star'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(data: dict[str, Any], said: str) -> None:
    message = refusal(lambda: parse(Drawing, data, "here"))
    assert message.startswith("here: ") and said in message


class Amount(Settings):
    per_day: int = Field(gt=0)


class Either(Settings):
    amount: Annotated[int, Field(gt=0)] | Amount = 1
    shapes: tuple[Square, ...] = Field((Square(),), min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> Either:
        if len(self.shapes) > 2:
            raise ValueError(f"shapes: two at most, got {len(self.shapes)}")
        return self


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"amount": 0}, "here: amount: must be greater than 0, got 0"),
        ({"amount": {"per_day": 0}}, "here: amount.per_day: must be greater than 0, got 0"),
        ({"amount": {"per_dya": 3}}, "here: amount.per_dya: unknown key (did you mean per_day?); allowed: per_day"),
        ({"shapes": [{"side": 0}]}, "here: shapes.0.side: must be greater than 0, got 0"),
        ({"shapes": []}, "here: shapes: needs at least 1, has 0"),
        ({"shapes": [{"side": 0}], "amount": 0}, "here: amount: must be greater than 0, got 0 (1 more key is wrong)"),
        ({"shapes": [{}, {}, {}]}, "here: shapes: two at most, got 3"),
    ],
)
def test_an_error_is_told_once_and_in_the_words_of_the_file(data: dict[str, Any], said: str) -> None:
    """Not once for each type that a value might have had."""
    assert refusal(lambda: parse(Either, data, "here")) == said


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_is_finite(value: float) -> None:
    message = refusal(lambda: parse(Square, {"side": value}, "here"))
    assert message == f"here: side: must be a finite number, got {value}"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Square().side = 2.0  # type: ignore[misc]


# fingerprints


class Colour(Enum):
    RED = 1
    BLUE = 2


class Pair(Settings):
    left: Any = None
    right: Any = None


class Base(Settings):
    size: int = 1


class Derived(Base):
    extra: int = 2


class Holder(Settings):
    part: Base


class Older(Settings):
    a: Any = 1
    b: Any = None
    c: Any = None
    later: Any = None

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"later", "a"})


DISTINCT = [
    *(None, True, False, 0, 1, 2, 0.0, -0.0, 1.0, 0.1, 0.1 + 1e-17 * 4, "", "1", "None", "true", b"", b"1"),
    *((), (None,), (1, 2), (2, 1), ((1,), 2), (1, (2,)), "(1, 2)", frozenset(), frozenset({1, 2}), date(2020, 1, 1)),
    *(Colour.RED, Colour.BLUE, "2020-01-01", Pair(), Pair(left=1), Pair(right=1), Pair(left=Pair(left=1))),
    *(Base(), Derived(), Derived(extra=3), Base(size=2), Holder(part=Base()), Holder(part=Derived())),
]


def test_values_that_differ_in_type_or_content_have_other_fingerprints() -> None:
    prints = [fingerprint(value) for value in DISTINCT]
    for i, one in enumerate(prints):
        same = [DISTINCT[j] for j, other in enumerate(prints) if other == one and j != i]
        assert same == [], f"{DISTINCT[i]!r} hashes as {same!r}"


def test_the_fields_of_a_subclass_count_even_behind_a_field_of_its_base() -> None:
    """Dumping `Holder` would lose `extra`: pydantic serialises by the annotated type."""
    assert "extra" not in Holder(part=Derived()).model_dump()["part"]
    assert fingerprint(Holder(part=Derived(extra=3))) != fingerprint(Holder(part=Derived(extra=4)))


def test_values_that_differ_in_one_field_are_hashed_as_each_alone() -> None:
    """Of the first, a middle and the last field, and beside one that identities leave out."""
    for start, field in ((Pair(left=Base()), "left"), (Pair(left="ä"), "right"), (Older(), "b"), (Older(), "c")):
        of = fingerprints(start, field)
        for other in DISTINCT:
            assert of(other) == fingerprint(start.model_copy(update={field: other})), (start, field, other)


def test_parts_that_many_values_share_change_no_hash() -> None:
    """Equal parts and other ones of the same class too, also after the first of them is gone."""
    parts, one = SharedParts(Base, Pair), Base(size=3)
    for held in (one, Base(size=3), Base(size=4), Derived(), one):
        assert fingerprint(Pair(left=held, right=(held, 1)), parts) == fingerprint(Pair(left=held, right=(held, 1)))
    for size in range(50):
        assert fingerprint((Base(size=size),), parts) == fingerprint((Base(size=size),))


def test_neither_the_order_of_a_set_nor_how_a_value_was_made_counts() -> None:
    assert fingerprint(frozenset("abcdef")) == fingerprint(frozenset("fedcba"))
    assert fingerprint([1, 2]) == fingerprint((1, 2))
    assert fingerprint(Derived(extra=2)) == fingerprint(Derived.model_validate({"extra": 2, "size": 1}))


@pytest.mark.parametrize(
    "value", [lambda: 1, len, {"a": 1}, {1, 2}, object(), Square, 1j, Path("a"), range(3), bytearray(b"1")]
)
def test_what_cannot_be_hashed_with_certainty_is_refused_however_deep(value: object) -> None:
    for held in (value, (1, (value,)), Pair(left=(value,))):
        with pytest.raises(TypeError, match="cannot fingerprint a "):
            fingerprint(held)


class Number(int, Enum):
    ONE = 1


def test_an_enumeration_of_numbers_does_not_pass_for_a_number() -> None:
    assert fingerprint(Number.ONE) != fingerprint(1)


def test_the_same_value_has_this_fingerprint_for_ever() -> None:
    """If this fails, every finished round of every user is orphaned: do not change the number, change the code back.

    A value's class counts by its name: `Data` stands for the classes that rounds are known by.
    """
    golden = {
        "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b": None,
        "2cc35c1a8552a27dcd2dde8d6e43d5766605035bf5bf470964fe3979caeeb44b": (1, 2.5, "x", True),
        "6f52a6c85ca847a55b046e8fca51396167e1bd65d56bc741500eee9714ad1327": (frozenset({1}), date(2020, 1, 31), b"0"),
        "8a41b2e85447e87f26cf492cd24d95434d50a9e95af7abfb5a14779d59b32fed": Data(sha256="5f", tokens=17),
        "3c4c38be20abf1b095c7306eb715c20bfa9e8a4e02a5bfcb6d32a041aee3ac4c": frozenset(
            {Data(sha256="ünf", tokens=17), (1, "2")}
        ),
    }
    assert [fingerprint(value) for value in golden.values()] == list(golden)


class Grown(Settings, identity="Bare"):
    """`Bare` after a field was added to it."""

    alpha: float = 0.5
    later: str = "as before"

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"later"} if self.later == "as before" else ())


class Bare(Settings):
    alpha: float = 0.5


def test_a_field_that_came_later_counts_only_with_another_value_than_before() -> None:
    assert fingerprint(Grown()) == fingerprint(Bare())
    assert fingerprint(Grown(alpha=0.25)) == fingerprint(Bare(alpha=0.25)) != fingerprint(Bare())
    assert fingerprint(Grown(later="otherwise")) != fingerprint(Bare())
