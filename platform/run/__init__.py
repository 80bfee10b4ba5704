"""Running a plan: train what is left, score what is left, and keep a root tidy.

`driver` starts chains and tuned copies once what they start from is done, each with its share of the workers, and then
the evaluation; it alone decides what is skipped. `cleanup` lists what no study uses, and verifies records.

Start with `driver.train`.
"""
