"""Who writes to a root. The lease itself, which a command holds while it writes, is taken in `core.lease`.

`lease_files` reads the files of leases and says whether a later writer has taken a root over: `Store` asks before
whatever it writes or removes under a lease. `presence` marks, outside the root, that the holder of a lease lives on
this machine. `aside` writes a file of a local disk beside its place first.
"""
