"""The catalogue of methods: each row of the papers' tables is one value.

A study lists methods by name, or changes one with `base: NAME`.
"""

from __future__ import annotations

from ticlm.methods.adapters.k_adapter import KAdapter
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.adapters.modular import Modular
from ticlm.methods.adaptive import ForgettingReplay, ScalingReplay, SpacedReplay
from ticlm.methods.deploy import Anchor, DecayShaped, Deploy, ExponentialAverage, Leaf, MeanOfLast
from ticlm.methods.ewc import EWC
from ticlm.methods.lwf import LwF
from ticlm.methods.mer import MER
from ticlm.methods.method import Continual, Joint, OracleSeries
from ticlm.methods.mix_review import MixReview
from ticlm.methods.muon import Muon
from ticlm.methods.optimizers import Adafactor, ScheduleFree
from ticlm.methods.recadam import RecAdam
from ticlm.methods.replay import ChosenReplay, EqualReplay, ExponentialReplay, FixedReplay, SelfReplay
from ticlm.methods.schedules import (
    AutoregressiveCosine,
    Constant,
    CyclicRsqrt,
    Infinite,
    LinearDecay,
    Rsqrt,
    WarmupCosine,
    WarmupStableDecay,
)
from ticlm.methods.seams import Adapter, Replay

# The seven Oracles of TiC-LM, as released.
ORACLE_CUTOFFS = ("201305", "201501", "201701", "201901", "202101", "202301", "202407")

# TiC-LM, Table 9. Table 2 has the first two, alone and with AR.
REPLAYS: dict[str, Replay] = {
    "replay-equal": EqualReplay(),
    "replay-half": FixedReplay(alpha=0.5),
    "replay-exp": ExponentialReplay(),
    **{f"replay-{alpha}": FixedReplay(alpha=alpha) for alpha in (0.1, 0.3, 0.7, 0.9)},
}

# CKL (Jang et al., 2022), Table 2, on a T5: its optimizer and schedule; with additions, the encoder is frozen and the
# decoder trained. On GPT-2, all its own weights are frozen: `freeze: all`.
NEWS = {"schedule": LinearDecay(max_rate=1e-3)}
ADDITIONS: dict[str, Adapter] = {
    "ckl-lora": LoRA(),
    "ckl-k-adapter-2": KAdapter(layers=(1, 11)),
    "ckl-k-adapter-3": KAdapter(layers=(1, 11, 23)),  # an assumption: the layers of k = 3 were not released
    "ckl-modular": Modular(),
}
CKL = (
    Continual(name="ckl-vanilla", optimizer=Adafactor(), **NEWS),
    Continual(name="ckl-recadam", group="regularization", optimizer=RecAdam(), **NEWS),
    Continual(name="ckl-mix-review", group="replay", replay=MixReview(), optimizer=Adafactor(), **NEWS),
    *(
        Continual(name=name, group="adapter", adapter=adapter, freeze="encoder", optimizer=Adafactor(), **NEWS)
        for name, adapter in ADDITIONS.items()
    ),
)

# Beyond the papers' tables: averages of the checkpoints of one chain at a constant rate, which they share.
AVERAGES: dict[str, Deploy] = {
    "replay-half+ema": ExponentialAverage(),
    "replay-half+mean": MeanOfLast(),
    "replay-half+wsm": DecayShaped(),  # WSM (arXiv 2507.17634)
    "replay-half+anchor": Anchor(),  # WiSE-FT (arXiv 2109.01903)
}
DEPLOYED = (
    *(
        Continual(name=name, group="replay", replay=REPLAYS["replay-half"], schedule=Constant(), deploy=deploy)
        for name, deploy in AVERAGES.items()
    ),
    # TIME (arXiv 2412.06712): each round starts from the average, and the average is deployed
    Continual(
        name="replay-half+time",
        group="replay",
        replay=REPLAYS["replay-half"],
        deploy=ExponentialAverage(next="deployed"),
    ),
)

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
    # shares that follow from recorded losses; after ADO (arXiv 2410.11820) and MSSR (arXiv 2603.09892), by period
    Continual(name="replay-adaptive", group="replay", replay=ForgettingReplay()),
    Continual(name="replay-ado", group="replay", replay=ScalingReplay()),
    Continual(name="replay-spaced", group="replay", replay=SpacedReplay()),
    *DEPLOYED,
    # the published row; its penalty is a mean over tokens x vocabulary, which leaves next to nothing of it
    Continual(name="lwf", group="regularization", penalties=(LwF(reduction="elements"),)),
    Continual(name="lwf-per-token", group="regularization", penalties=(LwF(),)),
    Continual(name="ewc", group="regularization", penalties=(EWC(),)),
    Continual(name="ewc-new-data", group="regularization", penalties=(EWC(data="new"),)),
    Continual(name="recadam", group="regularization", optimizer=RecAdam()),
    # CKL, appendix D; TemporalWiki mixes one to one throughout
    Continual(name="mix-review", group="replay", replay=MixReview()),
    Continual(name="mix-review-1-1", group="replay", replay=MixReview(ratio=1, decay=1)),
    # beyond the papers of this field
    Continual(name="muon", optimizer=Muon()),
    Continual(name="mer", group="replay", replay=FixedReplay(alpha=0.5), optimizer=MER()),
    # arXiv 2605.26097: the other half is sampled from the model itself
    Continual(name="replay-self", group="replay", replay=SelfReplay()),
    # half replay of chosen rows: TiC-LM's limitations ask for buffers that keep the most unique and useful of the old
    *(
        Continual(name=f"replay-chosen-{rule}", group="replay", replay=ChosenReplay(by=rule))
        for rule in ("unlike", "novelty", "loss", "excess")
    ),
    # beside any model, all of whose own weights are frozen
    Continual(name="lora", group="adapter", adapter=LoRA()),
    Continual(name="k-adapter", group="adapter", adapter=KAdapter()),
    *CKL,
    # beyond the papers: a round that decays at its end (WSD, arXiv 2404.06395), and trunks that never decay, with a
    # cooled leaf for each period (branch cooldown, Kairos, arXiv 2605.22769; infinite schedules, arXiv 2503.02844)
    Continual(name="wsd", schedule=WarmupStableDecay()),
    Continual(name="trunk-leaf", schedule=Constant(), deploy=Leaf(share=0.2)),
    Continual(name="infinite", schedule=Infinite(), deploy=Leaf(share=0.2)),
    Joint(name="joint"),
    OracleSeries(name="oracle", cutoffs=ORACLE_CUTOFFS),
)

CATALOG = {method.name: method for method in METHODS}
