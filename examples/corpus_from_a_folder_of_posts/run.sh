#!/usr/bin/env bash
# Build a corpus of three months from a folder of Markdown posts, and look at it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
ticlm data build corpus.yaml "$@"
ticlm data show posts
