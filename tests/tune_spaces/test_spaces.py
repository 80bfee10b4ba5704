"""Search spaces: the packaged ones are the papers' grids, their points are methods, and what is wrong is one line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.methods.catalog import CATALOG
from ticlm.methods.ewc import EWC
from ticlm.methods.lwf import LwF
from ticlm.methods.method import Continual, Joint
from ticlm.methods.optimizers import AdamW
from ticlm.methods.recadam import RecAdam
from ticlm.methods.replay import EqualReplay, FixedReplay, NoReplay
from ticlm.methods.schedules import AutoregressiveCosine, CyclicRsqrt, Linear, WarmupCosine
from ticlm.methods.seams import Context, Penalty, PenaltyState, RoundPosition
from ticlm.platform.study.settings import load as load_study
from ticlm.tune_spaces.domains import ends
from ticlm.tune_spaces.space import Space, grid, load, packaged


def catalogued(name: str) -> Continual:
    found = CATALOG[name]
    assert isinstance(found, Continual)
    return found


COSINE, EWC_ROW = catalogued("cyclic-cosine"), catalogued("ewc")


def methods_of(space: Space, study: Sequence[Any] = ()) -> list[Continual]:
    base = space.method_of(study)
    return [space.changed(base, point, space.label(point)) for point in space.points]


def unnamed(methods: Sequence[Continual]) -> list[str]:
    return [fingerprint(method.model_copy(update={"name": "x", "seeds": (0,)})) for method in methods]


def one_line(what: Callable[[], object]) -> str:
    with pytest.raises(InputError) as error:
        what()
    assert "\n" not in str(error.value)
    return str(error.value)


# the packaged spaces


def test_the_packaged_spaces_are_there_under_their_names() -> None:
    papers = {"learning_rate", "schedule_free", "ewc", "lwf", "rsqrt", "replay", "joint", "recadam"}
    assert set(packaged()) == papers | {"small_learning_rate"}
    assert [load(name).name for name in packaged()] == packaged()
    assert all(load(name).says for name in packaged())


@pytest.mark.parametrize("name", packaged())
def test_every_packaged_space_applies_to_its_method_of_the_catalogue(name: str) -> None:
    space = load(name)
    base = space.method_of(())
    assert base is CATALOG[space.method]
    space.check(base)
    labels = [space.label(point) for point in space.points]
    assert len(set(labels)) == len(labels) and all(re.fullmatch(r"[a-z0-9._+-]+", label) for label in labels)


@pytest.mark.parametrize(
    "name, study", [("learning_rate", "tic-lm-table-5"), ("schedule_free", "tic-lm-table-6"), ("ewc", "tic-lm-table-7")]
)
def test_the_grids_are_the_methods_of_the_papers_tables(name: str, study: str) -> None:
    theirs = [method for method in load_study(study).methods if isinstance(method, Continual)]
    assert unnamed(methods_of(load(name))) == unnamed(theirs)


def test_a_space_changes_the_method_of_the_study_where_it_has_one() -> None:
    study = load_study("tic-lm-3b-220b").methods
    assert {method.seeds for method in methods_of(load("learning_rate"), study)} == {
        next(m.seeds for m in study if m.name == "cyclic-cosine")
    }


def test_the_autoregressive_point_is_the_row_of_the_catalogue() -> None:
    assert unnamed(methods_of(load("learning_rate"))[-1:]) == unnamed([catalogued("cyclic-cosine+ar")])


def test_lwf_is_weighed_at_temperature_2_as_released() -> None:
    found = [method.penalties for method in methods_of(load("lwf"))]
    assert found == [(LwF(weight=w, temperature=2.0, reduction="elements"),) for w in (0.1, 0.3, 1.0, 3.0, 10.0)]


def test_rsqrt_has_every_rate_with_every_cooldown_and_fits_a_round_of_the_paper() -> None:
    found = [method.schedule for method in methods_of(load("rsqrt"))]
    assert all(type(schedule) is CyclicRsqrt for schedule in found)
    pairs = [(s.max_rate, s.cooldown_steps) for s in found if isinstance(s, CyclicRsqrt)]
    assert pairs == [(rate, steps) for rate in (1e-3, 3e-4, 1e-4, 5e-5, 3e-5) for steps in (50, 100, 200, 400)]
    for schedule in found:
        schedule.check(RoundPosition(index=0, steps=1887, steps_before=0))


def test_recadam_has_every_middle_with_every_steepness_at_the_papers_strength() -> None:
    found = [method.optimizer for method in methods_of(load("recadam"))]
    assert found == [RecAdam(t0=t0, k=k) for t0 in (100, 250, 500, 1000) for k in (0.05, 0.1, 0.2, 0.5, 1.0)]
    assert RecAdam().gamma == 5000


def test_replay_has_the_shares_of_table_9_and_one_over_t() -> None:
    assert [method.replay for method in methods_of(load("replay"))] == [
        EqualReplay(),
        *(FixedReplay(alpha=alpha) for alpha in (0.1, 0.3, 0.5, 0.7, 0.9)),
    ]


def test_the_joint_space_draws_methods() -> None:
    space = load("joint")
    base = space.method_of(())
    for seed in range(20):
        point = {path: domain.sample(random_state=seed) for path, domain in space.domains.items()}
        found = space.changed(base, point, f"x-{space.label(point)}")
        assert isinstance(found.schedule, WarmupCosine) and isinstance(found.replay, FixedReplay)
        assert 3e-5 <= found.schedule.max_rate <= 1e-3 and 10 <= found.schedule.warmup_steps <= 200
        assert isinstance(found.optimizer, AdamW) and 1e-4 <= found.optimizer.weight_decay <= 0.1
        assert found.replay.alpha == point["replay.alpha"]


def test_spaces_of_points_load_no_ray_and_no_torch() -> None:
    code = (
        "import sys; from ticlm.tune_spaces.space import load, packaged\n"
        "for name in packaged():\n"
        "    if name != 'joint':\n"
        "        space = load(name); space.check(space.method_of(()))\n"
        "sys.exit(' '.join({'ray', 'torch', 'transformers'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# changes


def changed(point: dict[str, Any], base: Continual = COSINE) -> Continual:
    return Space("x", base.name, (point,)).changed(base, point, "trial")


def test_a_point_changes_its_settings_and_the_name_and_nothing_else() -> None:
    found = changed({"schedule.max_rate": 1e-3, "optimizer.weight_decay": 0.1})
    assert found == Continual(name="trial", schedule=WarmupCosine(max_rate=1e-3), optimizer=AdamW(weight_decay=0.1))


def test_a_mapping_merges_and_another_kind_replaces() -> None:
    base = COSINE.model_copy(update={"schedule": WarmupCosine(max_rate=1e-3, warmup_steps=7)})
    assert changed({"schedule": {"max_rate": 2e-3}}, base).schedule == WarmupCosine(max_rate=2e-3, warmup_steps=7)
    assert changed({"schedule": {"kind": "autoregressive-cosine"}}, base).schedule == AutoregressiveCosine()
    by_path = {"schedule.kind": "linear", "schedule.max_rate": 2e-3}
    assert changed(by_path, base).schedule == Linear(max_rate=2e-3)
    assert changed({"penalties": [{"kind": "ewc", "weight": 3}]}, base).penalties == (EWC(weight=3),)
    assert changed({"penalties": []}, EWC_ROW).penalties == ()


def test_a_part_of_a_list_is_named_by_its_position() -> None:
    both = EWC_ROW.model_copy(update={"penalties": (EWC(batches=7), LwF())})
    assert changed({"penalties.0.weight": 5, "penalties.1.weight": 6}, both).penalties == (
        EWC(weight=5, batches=7),
        LwF(weight=6),
    )


class Pull(Penalty):
    """A penalty that the union does not know."""

    strength: float = 1.0

    def start(self, context: Context) -> PenaltyState:
        raise AssertionError


def test_parts_of_other_types_stay_what_they_are() -> None:
    """Dumping the method and reading it again would lose them."""
    base = COSINE.model_copy(update={"penalties": (Pull(strength=2.0),)})
    assert changed({"schedule.max_rate": 1e-3}, base).penalties == (Pull(strength=2.0),)
    assert changed({"penalties.0.strength": 3.0}, base).penalties == (Pull(strength=3.0),)


def test_a_joint_method_stays_joint() -> None:
    found = changed({"schedule.max_rate": 1e-3}, catalogued("joint"))
    assert type(found) is Joint and found.replay == NoReplay()


@pytest.mark.parametrize(
    "point, said",
    [
        ({"schedule.rate": 1}, "the space x: schedule.rate is no setting of the method; schedule (kind cosine) has"),
        ({"schedule": {"rate": 1}}, "schedule.rate is no setting of the method; schedule (kind cosine) has max_rate"),
        ({"rate": 1}, "rate is no setting of the method; cyclic-cosine has group, schedule, replay, optimizer"),
        ({"penalties.0.weight": 1}, "penalties.0 is no setting of the method; penalties is empty"),
        ({"schedule.max_rate.x": 1}, "schedule.max_rate is 0.0001 in the method, which has no settings of its own"),
        ({"schedule.max_rate": -1}, "schedule: max_rate: must be greater than 0, got -1"),
        ({"schedule.max_rate": "fast"}, "schedule: max_rate: must be a number"),
        ({"schedule": {"kind": "square"}}, "schedule: kind must be one of"),
        ({"replay": {"kind": "fixed", "alpha": 3}}, "replay.alpha: must be less than or equal to 1"),
        ({"penalties": [{"kind": "ewc"}, {"kind": "ewc"}]}, "two penalties EWC have no meaning"),
    ],
)
def test_a_point_that_the_method_cannot_take_is_one_line(point: dict[str, Any], said: str) -> None:
    space = Space("x", "cyclic-cosine", (point,))
    assert said in one_line(lambda: space.changed(COSINE, point, "trial"))
    assert said in one_line(lambda: space.check(COSINE))


def test_a_position_beyond_the_list_is_said_with_what_it_holds() -> None:
    assert "penalties.1 is no setting of the method; penalties holds 0 to 0" in one_line(
        lambda: changed({"penalties.1.weight": 1}, EWC_ROW)
    )


def test_a_domain_is_checked_at_its_ends() -> None:
    from ray import tune

    space = Space("x", "replay-half", domains={"replay.alpha": tune.uniform(0.5, 1.5)})
    assert "replay: alpha: must be less than or equal to 1, got 1.5" in one_line(
        lambda: space.check(space.method_of(()))
    )
    kinds = tune.choice([{"kind": "equal"}, {"kind": "square"}])
    other = Space("x", "replay-half", domains={"replay": kinds})
    assert "'square'" in one_line(lambda: other.check(other.method_of(())))
    whole = {"schedule.warmup_steps": tune.randint(-3, 5)}
    assert "got -3" in one_line(lambda: Space("x", "cyclic-cosine", domains=whole).check(COSINE))


def test_ends_are_values_that_may_be_drawn() -> None:
    """The upper bound of integers is excluded, unless they are quantised."""
    from ray import tune

    found = [tune.randint(1, 5), tune.lograndint(1, 5), tune.qrandint(2, 6, 2), tune.uniform(0.5, 2), tune.choice("ab")]
    assert [ends(domain) for domain in found] == [(1, 4), (1, 4), (2, 6), (0.5, 2.0), ("a", "b")]
    assert [ends(domain) for domain in (tune.randn(3, 1), tune.qrandn(4, 1, 0.5))] == [(3.0,), (4.0,)]


def test_a_space_whose_method_is_nowhere_or_an_oracle_is_one_line() -> None:
    nowhere = one_line(lambda: Space("x", "cosine", ({"a": 1},)).method_of(load_study("demo").methods))
    assert nowhere.startswith("the space x searches the method cosine, which neither the study nor the catalogue has")
    assert "allowed: " in nowhere and "ewc-new-data" in nowhere and "oracle" not in nowhere
    oracle = one_line(lambda: Space("x", "oracle", ({"a": 1},)).method_of(()))
    assert "which is an Oracle series; allowed: cyclic-cosine" in oracle


# what a space refuses to be


@pytest.mark.parametrize(
    "points, said",
    [
        ((), "the space x is empty: give points or domains"),
        (({"a.b": 1}, {"a.b": 2}, {"a.b": 1.0}), "the space x: points 1 and 3 are the same: b 1"),
        (({"": 1},), "point 1: '' is no path of a setting"),
        (({"a..b": 1},), "point 1: 'a..b' is no path of a setting"),
        (({"a": 1}, {}), "point 2 changes nothing"),
        (("schedule.max_rate=1",), "point 1: expected a mapping"),
        (({"name": "y"},), "name is not searched"),
        (({"schedule": {}, "schedule.max_rate": 1},), "schedule.max_rate lies within schedule; give one of them"),
        (({"a": {1, 2}},), "point 1: a set is no value of a setting; allowed: text, numbers"),
        (({"a": float("nan")},), "point 1: nan is no value of a setting"),
        (({"a": {"b": {1: 2}}},), "must be text"),
    ],
)
def test_a_space_without_meaning_is_one_line(points: Any, said: str) -> None:
    assert said in one_line(lambda: Space("x", "cyclic-cosine", points))


def test_points_and_domains_together_are_ambiguous() -> None:
    from ray import tune

    domains = {"schedule.max_rate": tune.uniform(0.1, 1)}
    assert "is ambiguous" in one_line(lambda: Space("x", "ewc", ({"a": 1},), domains))
    assert "'' is no path" in one_line(lambda: Space("x", "ewc", domains={"": tune.uniform(0.1, 1)}))
    assert "the space 'My space'" in one_line(lambda: Space("My space", "ewc", ({"a": 1},)))


# names


def test_labels_are_short_and_told_is_for_people() -> None:
    space = load("schedule_free")
    assert space.label(space.points[6]) == "max_rate-0.0001-weight_decay-0.01"
    assert space.describe(space.points[6]) == "max_rate 1e-4, weight_decay 0.01"
    rates = load("learning_rate")
    assert [rates.label(rates.points[i]) for i in (2, -1)] == ["max_rate-0.0001", "ar"]
    assert [rates.describe(rates.points[i]) for i in (3, -1)] == ["max_rate 5e-5", "schedule autoregressive-cosine"]


def test_settings_that_are_the_same_in_all_points_are_not_repeated_in_names() -> None:
    space = load("ewc")
    assert space.label(space.points[5]) == "weight-1e+07" and space.describe(space.points[5]) == "weight 1e7"
    alone = Space("x", "ewc", space.points[:1])
    assert alone.label(alone.points[0]) == "weight-1-batches-100"


def test_settings_of_one_name_are_told_apart_by_more_of_their_path() -> None:
    space = grid("x", ["penalties.0.weight=1,2", "penalties.1.weight=1,2"])
    assert space.label(space.points[1]) == "0.weight-1-1.weight-2"


def test_points_that_read_the_same_have_labels_of_their_own() -> None:
    points = tuple(
        {"a": value} for value in ("A b", "a-b", "a b", True, "true", 0.1234567, 0.1234568, "x" * 50, "x" * 51)
    )
    space = Space("x", "ewc", points)
    labels = [space.label(point) for point in points]
    assert len(set(labels)) == len(points)
    assert all(re.fullmatch(r"[a-z0-9._+-]+", label) and len(label) < 60 for label in labels)


def test_drawn_points_that_round_to_the_same_have_labels_of_their_own() -> None:
    space = load("joint")
    draws = [{path: domain.sample(random_state=seed) for path, domain in space.domains.items()} for seed in range(9)]
    draws += [draw | {"replay.alpha": draw["replay.alpha"] * (1 + 1e-9)} for draw in draws]
    labels = [space.label(draw) for draw in draws]
    assert len(set(labels)) == len(draws) and all(len(label) < 80 for label in labels)


@pytest.mark.parametrize(
    "value, said",
    [
        *((1e-4, "1e-4"), (0.005, "0.005"), (5000, "5000"), (1e7, "1e7"), (12345, "12345"), (0, "0")),
        *((0.000237183718, "2.37184e-4"), (True, "true"), (None, "none"), ([1e-4, 2], "[1e-4, 2]")),
        ({"kind": "cosine", "max_rate": 1e-4}, "cosine (max_rate 1e-4)"),
    ],
)
def test_values_are_written_as_people_write_them(value: Any, said: str) -> None:
    space = Space("x", "ewc", ({"a": value},))
    assert space.describe(space.points[0]) == f"a {said}"


# identity


def test_identity_is_the_same_in_another_process() -> None:
    names = ["learning_rate", "joint"]
    code = f"from ticlm.tune_spaces.space import load\nprint(*(load(name).identity for name in {names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [load(name).identity for name in names]


def test_identity_changes_with_anything_that_changes_what_is_tried() -> None:
    from ray import tune

    def of(domain: Any, path: str = "a", method: str = "ewc") -> str:
        return Space("x", method, domains={path: domain}).identity

    floats = (tune.uniform(0.1, 2), tune.loguniform(0.1, 1), tune.quniform(0.1, 1, 0.1), tune.quniform(0.1, 1, 0.05))
    others = (tune.qloguniform(0.1, 1, 0.1), tune.randn(0, 1), tune.randn(0, 2), tune.qrandn(0, 1, 0.5))
    integers = (tune.randint(1, 5), tune.randint(1, 6), tune.lograndint(1, 5), tune.qrandint(2, 6, 2))
    choices = (tune.choice([1, 5]), tune.choice([5, 1]), tune.choice(["1", "5"]), tune.choice([{"b": 1}, {"b": 5}]))
    distinct = [
        of(tune.uniform(0.1, 1)),
        of(tune.uniform(0.1, 1), "b"),
        of(tune.uniform(0.1, 1), method="lwf"),
        *map(of, (*floats, *others, *integers, *choices)),
        Space("x", "ewc", ({"a": 1}, {"a": 2})).identity,
        Space("x", "ewc", ({"a": 2}, {"a": 1})).identity,
        Space("x", "ewc", ({"a": [1]}, {"a": 2})).identity,
        Space("x", "lwf", ({"a": 1}, {"a": 2})).identity,
    ]
    assert len(set(distinct)) == len(distinct)
    again = Space("y", "ewc", domains={"a": tune.uniform(0.1, 1)}, says="the same under another name")
    assert again.identity == distinct[0]


def test_domains_whose_identity_is_uncertain_are_refused() -> None:
    from ray import tune
    from ray.tune.search import sample

    class Mine(sample.Float):  # type: ignore[misc]
        pass

    for domain, said in [
        (tune.sample_from(lambda _: 1), "a Function is no domain to draw from; allowed: tune.uniform, loguniform"),
        (tune.grid_search([1, 2]), "a dict is no domain"),
        ([1, 2], "a list is no domain"),
        (Mine(1, 2), "a Mine is no domain"),
        (tune.choice([]), "a choice of nothing"),
        (sample.Categorical([1, 2]).grid(), "a grid is not drawn from; give points"),
        (tune.choice([len]), "a builtin_function_or_method is no value of a setting"),
    ]:
        found = one_line(lambda domain=domain: Space("x", "ewc", domains={"a.b": domain}))  # type: ignore[misc]
        assert found.startswith("the space x: a.b: ") and said in found


# files, and grids made on the fly


SOURCE = """
from ticlm.tune_spaces.space import Space

SPACE = Space("mine", "cyclic-cosine", ({"schedule.max_rate": 1e-2}, {"schedule.max_rate": 1e-3}))
"""


def test_a_file_with_a_space_is_one(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    space = load(str(tmp_path / "mine.py"))
    assert space == Space("mine", "cyclic-cosine", ({"schedule.max_rate": 1e-2}, {"schedule.max_rate": 1e-3}))


def test_the_space_in_the_readme_is_one(tmp_path: Path) -> None:
    readme = ROOT / "tune_spaces/README.md"
    (code,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    (tmp_path / "small_rates.py").write_text(code)
    found = [method.schedule for method in methods_of(load(str(tmp_path / "small_rates.py")))]
    assert found[0] == WarmupCosine(max_rate=1e-2)
    assert found[-1] == AutoregressiveCosine(max_rate=1e-2, warmup_steps=5)
    assert all(f"| `{name}` |" in readme.read_text() for name in packaged())


@pytest.mark.parametrize(
    "source, said",
    [
        ("", "has no constant SPACE; write SPACE = Space"),
        ("SPACE = {}", "SPACE must be a Space of ticlm.tune_spaces.space, it is a builtins.dict"),
        ("SPACE = 1 / 0", "cannot be run: ZeroDivisionError: division by zero"),
        ("SPACE = (", "cannot be run: SyntaxError: '(' was never closed"),
        ("import nothing_of_this_name", "cannot be run: ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "cannot be run: SystemExit: 3"),
        ("raise ValueError('two\\nlines')", "cannot be run: ValueError: two lines"),
        (SOURCE.replace("({", "({}, {"), "the space mine: point 1 changes nothing"),
    ],
)
def test_a_file_without_a_space_is_one_line_that_names_it(tmp_path: Path, source: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(source)
    found = one_line(lambda: load(str(path)))
    assert found.startswith(f"{path}: ") and said in found


@pytest.mark.parametrize("name", ["nowhere", "nowhere.py", "space", "changes", "."])
def test_a_name_of_no_space_is_one_line_with_those_there_are(name: str) -> None:
    assert one_line(lambda: load(name)) == (
        f"{name}: no such file, and no packaged space; packaged are: {', '.join(packaged())}"
    )


def test_values_make_a_grid_with_the_first_path_slowest() -> None:
    space = grid("cyclic-cosine", ["schedule.max_rate=1e-2,3e-3", "schedule.warmup_steps=5,10"])
    assert [tuple(point.values()) for point in space.points] == [(1e-2, 5), (1e-2, 10), (3e-3, 5), (3e-3, 10)]
    space.check(COSINE)


def test_values_may_be_mappings() -> None:
    space = grid("cyclic-cosine", ["schedule={max_rate: 1e-3},{kind: autoregressive-cosine, max_rate: 2e-3}"])
    assert [method.schedule for method in methods_of(space)] == [
        WarmupCosine(max_rate=1e-3),
        AutoregressiveCosine(max_rate=2e-3),
    ]


@pytest.mark.parametrize(
    "values, said",
    [
        ([], "the space grid is empty: give points or domains"),
        (["schedule.max_rate"], "--values schedule.max_rate: expected PATH=V1,V2,…"),
        (["=1"], "--values =1: expected PATH=V1,V2,…"),
        (["a="], "--values a=: no values; expected PATH=V1,V2,…"),
        (["a=1,,2"], "are not YAML values between commas"),
        (["a=[1"], "are not YAML values between commas"),
        (["a=1", "a=2"], "--values a=2: a is given twice"),
        (["a=1,1e0"], "points 1 and 2 are the same: a 1"),
        (["a=2020-01-01"], "a date is no value of a setting"),
        (["a.=1"], "'a.' is no path of a setting"),
    ],
)
def test_values_that_make_no_grid_are_one_line(values: list[str], said: str) -> None:
    assert said in one_line(lambda: grid("cyclic-cosine", values))


def test_one_space_serves_studies_that_call_the_method_otherwise() -> None:
    """CKL's studies have `ckl-recadam`, others `recadam`; the catalogue's stands in where a study has neither."""
    space = load("recadam")
    named = {name: space.method_of(load_study(name).methods) for name in ("ckl", "temporalwiki", "monthly")}
    assert named["ckl"] in load_study("ckl").methods and named["ckl"].name == "ckl-recadam"
    assert named["temporalwiki"] in load_study("temporalwiki").methods and named["temporalwiki"].name == "recadam"
    assert named["monthly"] is CATALOG["recadam"]
