"""Everything that runs on a Ray cluster: joining one, sending jobs to it, and training chains with Ray Train.

`connect` starts or joins a Ray and checks that all its nodes reach the root; `head` watches its head. `job` packs a
command and a study; `jobs` submits the job and follows it. `ray_train` trains one chain: `restarts` decides after a
failure whether its workers start again, `nodes` watches the nodes meanwhile, and `ray_metrics` publishes progress for
Prometheus. Whatever is not public API of Ray lies in `ray_internals`. Start at `ray_train.fit`, which
`platform.run.driver` calls for every chain.
"""
