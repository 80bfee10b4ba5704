"""The search of TiC-LM, Table 5 (peak rate of cyclic cosine, and AR), with rates for the packaged small studies."""

from ticlm.tune_spaces.space import Space

AR = {"kind": "autoregressive-cosine", "max_rate": 2e-2, "end_rate": 1e-4, "warmup_steps": 5}

SPACE = Space(
    name="small_learning_rate",
    method="cyclic-cosine",
    points=(*({"schedule.max_rate": rate} for rate in (2e-2, 1e-2, 5e-3, 2.5e-3, 1.25e-3)), {"schedule": AR}),
    says="the learning rate of the cyclic cosine, and AR, for models of a laptop's size",
)
