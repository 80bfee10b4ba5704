#!/usr/bin/env bash
# Score a model in Hugging Face's format on dated texts, month by month, without a study: run.sh MODEL_FOLDER
set -euo pipefail
model=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
ticlm data build examples.yaml "${@:2}"
ticlm eval "$model" --tasks tasks.yaml
