"""Running a plan: train what is left, score what is left, and keep a root tidy.

`driver` trains and evaluates a plan: `scheduler` starts chains and tuned copies once their parents are done
(`startable` says which), each with its share of the workers, and checkpoints from a `scoring_queue` beside them, on one
of two `trainers`: slots of Ray, or this process. It alone decides what is skipped. `open_shares` measures checkpoints
for it, so that shares of adaptive replay become known. `requirements` says what is missing before anything starts.
`cleanup` lists the work that no study uses; `check` compares a root with its records; `failures` are kept for a status.

Start with `driver.train`.
"""
