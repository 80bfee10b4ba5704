"""The side of lm-evaluation-harness in evaluation.py; it runs in the environment of the rival `lm-eval`."""

import contextlib
import json
import sys
import time
from pathlib import Path

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM


def main(folder: Path, threads: int) -> None:
    torch.set_num_threads(threads)
    job = json.loads((folder / "job.json").read_text())
    documents = {str(number): tokens for number, tokens in enumerate(job.get("documents", []))}
    choices = [
        (("", ""), question["context"], choice)
        for question in job.get("questions", [])
        for choice in question["choices"]
    ]
    model = HFLM(
        pretrained=str(folder / "model"),
        device="cpu",
        dtype="float32",
        max_length=job["window"],
        prefix_token_id=job["prefix"],
        batch_size=1,
    )
    # Our side is given tokens, so the rival is not charged for making them.
    model.tok_encode = lambda string, **_: documents[string]
    requests = [
        Instance(request_type="loglikelihood_rolling", doc={}, arguments=(number,), idx=0) for number in documents
    ]
    for line in sys.stdin:
        asked = json.loads(line)
        model.batch_size_per_gpu = asked["batch"]
        wall, cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(sys.stderr):
            if documents:
                values = model.loglikelihood_rolling(requests[: asked["requests"]], disable_tqdm=True)
            else:
                found = model._loglikelihood_tokens(choices[: asked["requests"]], disable_tqdm=True)
                values = [logprob for logprob, _ in found]
        answer = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "values": values}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
