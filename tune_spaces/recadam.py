"""The annealings of RecAdam that CKL chooses from (Jang et al., 2022), at its strength of 5000."""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="recadam",
    method="recadam",
    also=("ckl-recadam",),  # with the schedule of CKL's Table 2
    points=tuple(
        {"optimizer.t0": t0, "optimizer.k": k} for t0 in (100, 250, 500, 1000) for k in (0.05, 0.1, 0.2, 0.5, 1.0)
    ),
    says="the middle and the steepness of RecAdam's annealing (CKL, Jang et al., 2022)",
)
