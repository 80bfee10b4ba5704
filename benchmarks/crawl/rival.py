"""The sides of datatrove in the crawl's benchmarks: `rival.py pages|dedup FOLDER`, in its own environment.

Its steps are chained as its executors chain them, in one process. `extractor` of a request chooses Trafilatura as its
users run it, with each extraction in a separate process, or Resiliparse without such a process, as our side does.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.dedup.bloom_filter import BloomFilterConfig, SingleBloomFilter
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.extractors.base import BaseExtractor
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.readers.warc import WarcReader
from datatrove.utils.text import TextNormConfig
from resiliparse.extract.html2text import extract_plain_text

Answer = dict[str, Any]
Work = Callable[[], Answer]


class Resiliparse(BaseExtractor):  # type: ignore[misc]
    name = "Resiliparse"

    def __init__(self) -> None:
        super().__init__(timeout=10)

    def extract(self, text: str) -> str:
        return str(extract_plain_text(text, main_content=True))

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        for document in data:
            with self.track_time():
                document.text = self.extract(document.text)
            if document.text:
                yield document


def pages(folder: Path) -> Callable[[Answer], Work]:
    held = [Document(text=text, id=str(number)) for number, text in enumerate(json.loads(_read(folder, "texts.json")))]

    def work(request: Answer) -> Work:
        def everything(steps: Iterable[Any]) -> Answer:
            flow = None
            for step in steps:
                flow = step.run(flow)
            kept = list(flow or ())
            return {"documents": len(kept), "chars": sum(len(document.text) for document in kept)}

        extractor = Resiliparse() if request["extractor"] == "resiliparse" else Trafilatura()
        reader = WarcReader(str(folder), glob_pattern="*.warc.gz")
        filters = [GopherRepetitionFilter(), GopherQualityFilter()]
        match request["part"]:
            case "reading":
                return lambda: everything([reader])
            case "extraction":
                html = list(reader.run())
                return lambda: everything([_Held(html), extractor])
            case "filters":
                return lambda: everything([_Held(held), *filters])
        return lambda: everything([reader, extractor, *filters])

    return work


class _Held:
    """A first step that gives documents held in memory."""

    def __init__(self, documents: Iterable[Any]) -> None:
        self.documents = documents

    def run(self, _: None) -> Iterator[Any]:
        return iter(self.documents)


def dedup(folder: Path) -> Callable[[Answer], Work]:
    job = json.loads(_read(folder, "job.json"))
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(job["texts"])]

    def work(request: Answer) -> Work:
        plain = TextNormConfig(False, False, False, False, False) if request["norm"] == "none" else TextNormConfig()
        # It takes positions by `hash & m_bytes`, so that all bits of m_bytes have to be set.
        config = BloomFilterConfig(m_bytes=job["bytes"] - 1, k=job["probes"], n_grams=13, norm_config=plain)
        step = SingleBloomFilter(tempfile.mkdtemp(), config)
        return lambda: {"kept": [int(d.id) for d in step.run(documents)], "ngrams": step.total_shingles}

    return work


def _read(folder: Path, name: str) -> str:
    return (folder / name).read_text()


def main(kind: str, folder: Path) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    prepare = {"pages": pages, "dedup": dedup}[kind](folder)
    for line in sys.stdin:
        work = prepare(json.loads(line))
        wall, cpu = time.perf_counter(), _cpu()
        answer = work()
        answer |= {"wall_s": time.perf_counter() - wall, "cpu_s": _cpu() - cpu}
        print(json.dumps(answer), file=answers, flush=True)


def _cpu() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
