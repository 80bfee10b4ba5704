"""The catalogue of methods: each row of the papers' tables is one value.

A study lists methods by name, or changes one with `base: NAME`.
"""

from __future__ import annotations

from ticlm.methods.ewc import EWC
from ticlm.methods.lwf import LwF
from ticlm.methods.method import Continual, Joint, OracleSeries
from ticlm.methods.optimizers import ScheduleFree
from ticlm.methods.replay import EqualReplay, ExponentialReplay, FixedReplay
from ticlm.methods.schedules import AutoregressiveCosine, Constant, CyclicRsqrt, Rsqrt, WarmupCosine
from ticlm.methods.seams import Replay

ORACLE_CUTOFFS = ("201305", "201501", "201701", "201901", "202101", "202301", "202407")

# TiC-LM, Table 9. Table 2 has the first two, alone and with AR.
REPLAYS: dict[str, Replay] = {
    "replay-equal": EqualReplay(),
    "replay-half": FixedReplay(alpha=0.5),
    "replay-exp": ExponentialReplay(),
    **{f"replay-{alpha}": FixedReplay(alpha=alpha) for alpha in (0.1, 0.3, 0.7, 0.9)},
}

# TiC-LM, Tables 2, 9 and 10. Learning rates: 1e-4 for continual rounds, 3e-4 for AR's first (facts of the release).
METHODS: tuple[Continual | OracleSeries, ...] = (
    Continual(name="cyclic-cosine", schedule=WarmupCosine()),
    Continual(name="cyclic-cosine+ar", schedule=AutoregressiveCosine()),
    Continual(name="cyclic-rsqrt", schedule=CyclicRsqrt()),
    Continual(name="rsqrt", schedule=Rsqrt()),
    Continual(name="schedule-free", schedule=Constant(), optimizer=ScheduleFree()),
    *(Continual(name=name, group="replay", replay=replay) for name, replay in REPLAYS.items()),
    *(
        Continual(name=f"{name}+ar", group="replay", replay=replay, schedule=AutoregressiveCosine())
        for name, replay in REPLAYS.items()
    ),
    # the published row; its penalty is a mean over tokens x vocabulary, which leaves next to nothing of it
    Continual(name="lwf", group="regularization", penalties=(LwF(reduction="elements"),)),
    Continual(name="lwf-per-token", group="regularization", penalties=(LwF(),)),
    Continual(name="ewc", group="regularization", penalties=(EWC(),)),
    Continual(name="ewc-new-data", group="regularization", penalties=(EWC(data="new"),)),
    Joint(name="joint"),
    OracleSeries(name="oracle", cutoffs=ORACLE_CUTOFFS),
)

CATALOG = {method.name: method for method in METHODS}
