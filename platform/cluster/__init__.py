"""Everything that runs on a Ray cluster: joining one, sending jobs to it, and training chains with Ray Train.

`connect` starts or joins a Ray and checks that all its nodes reach the root; `head` watches its head. `job` packs a
command and a study; `jobs` submits the job and follows it. `slots` hands chains, and checkpoints to score, to groups of
warm workers, each a run of Ray Train (`group`) whose workers (`slot_worker`) take job after job (`slot_jobs`) from a
`board`. `restarts` decides after a failure whether workers start again, `nodes` watches the nodes meanwhile, and
`ray_metrics` publishes progress for Prometheus. Whatever is not public API of Ray lies in `ray_internals`. Start at
`slots.Slots`, which `platform.run` makes for a study.
"""
