"""The methods by name: the papers' rows, each one value. A study lists names, or changes one with `base: NAME`."""

from __future__ import annotations

from ticlm.methods.method import Continual, OracleSeries
from ticlm.methods.replay import EqualReplay, FixedReplay
from ticlm.methods.schedules import AutoregressiveCosine, WarmupCosine

ORACLE_CUTOFFS = ("201305", "201501", "201701", "201901", "202101", "202301", "202407")

# TiC-LM, Table 2. Learning rates: 1e-4 for continual rounds, 3e-4 for AR's first (facts of the release).
CATALOG: dict[str, Continual | OracleSeries] = {
    method.name: method
    for method in (
        Continual(name="cyclic-cosine", schedule=WarmupCosine()),
        Continual(name="cyclic-cosine+ar", schedule=AutoregressiveCosine()),
        Continual(name="replay-equal", group="replay", replay=EqualReplay()),
        Continual(name="replay-half", group="replay", replay=FixedReplay(alpha=0.5)),
        Continual(name="replay-equal+ar", group="replay", replay=EqualReplay(), schedule=AutoregressiveCosine()),
        Continual(
            name="replay-half+ar", group="replay", replay=FixedReplay(alpha=0.5), schedule=AutoregressiveCosine()
        ),
        OracleSeries(name="oracle", cutoffs=ORACLE_CUTOFFS),
    )
}
