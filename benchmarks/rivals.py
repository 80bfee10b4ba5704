"""Installation of the rivals' environments: `python benchmarks/rivals.py [NAME …]`, by default all of them.

Each rival has an environment of its own in `.rivals/NAME`, so that its pins never conflict with ours.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).resolve().parents[1] / ".rivals"
TORCH = "torch==2.13.0"  # named in every environment: a rival that only says `torch` may pull another build of it
REQUIREMENTS = {
    "lm-eval": ("lm-eval==0.4.13", TORCH, "transformers==5.23.0", "accelerate"),
    "peft": ("peft", TORCH, "transformers==5.23.0", "accelerate"),
    "streaming": ("mosaicml-streaming==0.13.0", TORCH),
    "litdata": ("litdata==0.2.76", TORCH),
    "datatrove": (
        *("datatrove==0.10.1", "trafilatura==1.11.0", "lxml_html_clean", "warcio==1.8.1", "faust-cchardet"),
        *("python-magic", "spacy==3.8.18", "nltk", "fasttext-numpy2-wheel", "xxhash"),
        *("fastwarc==2.0.1", "resiliparse==2.0.1"),  # the same as ours
    ),
}


def python(name: str) -> Path:
    """Return the interpreter of a rival; exit with the command that makes its environment if there is none."""
    interpreter = HOME / name / "bin" / "python"
    if not (HOME / name / "ready").exists():
        raise SystemExit(f"the rival {name} is not installed; run: python benchmarks/rivals.py {name}")
    return interpreter


def install(name: str) -> None:
    folder = HOME / name
    venv.create(folder, with_pip=True, clear=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]], check=True)
    (folder / "ready").write_text("\n".join(REQUIREMENTS[name]) + "\n")


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(REQUIREMENTS))
    if unknown:
        raise SystemExit(f"no rival named {', '.join(unknown)}; there are: {', '.join(REQUIREMENTS)}")
    for name in names or REQUIREMENTS:
        print(f"installing {name} in {HOME / name}", flush=True)
        install(name)


if __name__ == "__main__":
    main(sys.argv[1:])
