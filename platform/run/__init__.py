"""Running a plan: train what is left, score what is left, and keep a root tidy.

`driver` starts chains and tuned copies once their parents are done, each with its share of the workers, and then the
evaluation; it alone decides what is skipped. `open_shares` measures checkpoints for it, so that shares of adaptive
replay become known. `cleanup` lists the work that no study uses; `check` compares a root with its records.

Start with `driver.train`.
"""
