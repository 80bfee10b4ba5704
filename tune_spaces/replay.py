"""The share of a round's budget for the new period in TiC-LM, Table 9: 1/t, or a fixed share."""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="replay",
    method="replay-half",
    points=(
        {"replay": {"kind": "equal"}},
        *({"replay.alpha": alpha} for alpha in (0.1, 0.3, 0.5, 0.7, 0.9)),
    ),
    says="shares of the new period under replay, and 1/t (TiC-LM, Table 9)",
)
