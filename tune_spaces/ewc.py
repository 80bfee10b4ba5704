"""The weights of EWC in TiC-LM, Table 7, with Fisher information from 100 batches."""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="ewc",
    method="ewc",
    points=tuple(
        {"penalties.0.weight": weight, "penalties.0.batches": 100}
        for weight in (1.0, 1e1, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    ),
    says="weights of EWC, Fisher information from 100 batches (TiC-LM, Table 7)",
)
