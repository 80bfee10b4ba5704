"""How far a run is, while it goes on and after it.

`renewing` keeps the page of a run up to date beside it, in a process of its own (`page_process`), so that neither its
time nor its faults are the run's. `status` is the command that says what runs on a root, how far each study is, and
what failed; `root_status` reads that from the root, `ray_jobs` from the dashboard of a cluster.

Start with `renewing`.
"""
