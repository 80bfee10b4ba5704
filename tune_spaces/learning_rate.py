"""The peak learning rates of cyclic cosine, and the autoregressive schedule, in TiC-LM, Table 5."""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="learning_rate",
    method="cyclic-cosine",
    points=(
        *({"schedule.max_rate": rate} for rate in (1e-3, 3e-4, 1e-4, 5e-5, 3e-5)),
        {"schedule": {"kind": "autoregressive-cosine"}},  # with the catalogue's rate: 3e-4 in the first round
    ),
    says="peak learning rates of cyclic cosine, and AR (TiC-LM, Table 5)",
)
