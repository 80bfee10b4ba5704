"""`python -m ticlm.platform` is `ticlm`, for places where the command is not installed."""

from ticlm.platform.cli.main import main

main()
