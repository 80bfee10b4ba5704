"""What made a round: the code, the libraries, the hardware, and the settings that reach the last bits of its weights.

A round that is run again has the same bits where all of this is the same.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ticlm.core.integrity.own_code import code_hash, release
from ticlm.platform.models import compiled
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.work import ChainWork


def maker(work: ChainWork, workers: Workers) -> dict[str, Any]:
    """Return what the record of a round says of how it was made."""
    return {
        **this_machine(),
        "device": torch.device(workers.device).type,
        "gpu": torch.cuda.get_device_name() if torch.device(workers.device).type == "cuda" else "",
        "workers": workers.world,
        "threads": work.resources.threads,
        "micro_batch_rows": work.micro_rows,
        "compiled": compiled.is_wanted(work.resources.compile, workers.device),
    }


@cache
def this_machine() -> dict[str, str]:
    """Return the code, the libraries and the processor of this process."""
    return {
        "code": code_hash(),
        "ticlm": release("ticlm"),
        "torch": str(torch.__version__),
        "transformers": release("transformers"),
        "numpy": release("numpy"),
        "python": platform.python_version(),
        "processor": _processor(),
        # Which kernels torch takes: the same model of a processor may offer fewer in a virtual machine.
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def _processor() -> str:
    """Return the name of the processor, as Linux tells it, else the kind of machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "CPU part")))
    return next(names, "") or platform.machine()
