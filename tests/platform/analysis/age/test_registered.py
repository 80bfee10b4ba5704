"""The score that was written down before any model of unknown age was asked is the one that is computed with."""

from __future__ import annotations

from dataclasses import asdict

import yaml
from paths import ROOT

from ticlm.platform.analysis.age import edge
from ticlm.platform.analysis.age.score import CHOSEN


def test_the_score_is_the_registered_one() -> None:
    written = yaml.safe_load((ROOT / "docs" / "results" / "age-score.yaml").read_text(encoding="utf-8"))
    assert {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(CHOSEN).items()} == written[
        "score"
    ]
    constants = {"level": edge.LEVEL, "sure": edge.SURE, "resamples": edge.RESAMPLES, "shuffles": edge.SHUFFLES}
    assert constants == {name: written[name] for name in constants}
