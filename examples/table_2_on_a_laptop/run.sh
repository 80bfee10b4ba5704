#!/usr/bin/env bash
# Train and score ten methods over twelve months: about twenty minutes on two cores. It goes on where it was stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
ticlm run study.yaml "$@"
