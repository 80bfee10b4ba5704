"""The experiment on clocks of slower corpora: equal tokens in all its runs, and its means by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from benchmarks.experiments import clocks

from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds

WORLDS = {"news": clocks.NEWS, "posts": clocks.POSTS}


def drawn(arm: str, world: clocks.World, share: float = 0.1) -> tuple[int, int]:
    """Return the tokens that a run spends on the slower corpus and in all, and check where it is scored."""
    study = Study.model_validate(yaml.safe_load(clocks.study(arm, world, share, 1, 1)))
    assert [task.data_source for task in study.evaluations] == ["main@1", "slow@1"]
    assert set(world.checkpoints) <= set(study.timeline.labels) and world.checkpoints[0] == study.timeline.labels[0]
    tree = rounds(study)
    shares = [one for key in tree.runs[0].keys for seg in tree.rounds[key].segments for one in seg.mixture.shares]
    return sum(one.tokens for one in shares if one.source.corpus == "slow@1"), sum(one.tokens for one in shares)


@pytest.mark.parametrize("name", WORLDS)
def test_all_runs_spend_the_same_tokens_and_clocks_their_share_of_them(name: str) -> None:
    world = WORLDS[name]
    found = {arm: drawn(arm, world) for arm in clocks.ARMS}
    (whole,) = {tokens for _, tokens in found.values()}
    assert found["alone"][0] == found["poured"][0] == 0
    assert found["clock"][0] == pytest.approx(0.1 * whole, rel=1e-3)
    assert found["clock-double"][0] == pytest.approx(0.2 * whole, rel=1e-3)


def test_means_are_over_what_has_ended_by_each_checkpoint(tmp_path: Path) -> None:
    """Of a slow corpus in quarters; a quarter that goes on at the checkpoint of May counts in neither mean."""
    rows = [
        ("202301-202303", "202301-202303", 9.0),
        ("202301-202303", "202304-202306", 8.0),
        ("202305", "202301-202303", 1.0),
        ("202305", "202304-202306", 100.0),
        ("202306", "202301-202303", 3.0),
        ("202306", "202304-202306", 4.0),
    ]
    lines = [f"replay-half,{seed},{t},{e},slow@1,,nll,{v + seed}" for seed in (0, 1) for t, e, v in rows]
    file = tmp_path / "reports/clock-01234567/results.csv"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(["method,seed,trained,evaluated,task,source,metric,value", *lines]))
    found = clocks.losses(tmp_path, "clock")
    assert found["slow"].loc[0].to_dict() == {"new": (1 + 4) / 2, "old": 3.0}
    assert found["slow"].loc[1].to_dict() == {"new": (1 + 4) / 2 + 1, "old": 4.0}
    frozen = clocks.losses(tmp_path, "clock", frozen=True)
    assert frozen["slow"].loc[0].to_dict() == {"new": (9 + 8) / 2, "old": 9.0}
