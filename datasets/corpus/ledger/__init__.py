"""What earlier builds of a corpus mean for the next one, and what a build says of itself.

`history.py` asks the records of finished builds (`build_records.py`) which inputs have to be read, and which periods
are lost and built again. `balance.py` says where every document of a build goes, and checks that the build may go on.
`warnings.py` has the lines that the user must read, and `counts.py` what a scan counts. Start with `history.py`.
"""
