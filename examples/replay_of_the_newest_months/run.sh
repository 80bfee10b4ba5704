#!/usr/bin/env bash
# Compare a replay of one's own with one of the catalogue: corpus, training, evaluation, table and page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
ticlm run study.yaml "$@"
