"""TiC-LM, Table 5: the peak learning rate of every round under cyclic cosine, and the autoregressive schedule."""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="learning_rate",
    method="cyclic-cosine",
    points=(
        *({"schedule.max_rate": rate} for rate in (1e-3, 3e-4, 1e-4, 5e-5, 3e-5)),
        {"schedule": {"kind": "autoregressive-cosine"}},  # as the catalogue has it: 3e-4 in the first round
    ),
    says="peak learning rates of cyclic cosine, and AR (TiC-LM, Table 5)",
)
