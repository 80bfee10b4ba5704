#!/usr/bin/env bash
# Run the demo, or what it lacks, and write its report with a table and a chart of one's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
ticlm run study.yaml "$@"
