"""Benchmark of marking proper nouns: words per second with one and two spaCy actors on Ray, and without Ray.

    python -m benchmarks.tagging [--quick] [--pipeline NAME_OR_FOLDER]

The default pipeline has the size of spaCy's small ones (a convolutional network of width 96 and depth 4) and is trained
briefly on the synthetic world; its quality does not matter here. Starting Ray is not timed; loading the actors is, as
it is part of a build.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sides import Side

from ticlm.core.examples import Example
from ticlm.core.periods import Period, span
from ticlm.datasets.examples.word_tags import ProperNouns, WordTagger, marked, taggers
from ticlm.datasets.io.ray_map import RayExecutor
from ticlm.datasets.synthetic.world import SyntheticWorld

WORDS = 300
"""In a text: about 450 tokens, as in TiC-Wiki."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run of a minute")
    parser.add_argument("--pipeline", help="a spaCy package that is installed, or the folder of a pipeline")
    parser.add_argument("--tags", default="PROPN", help="separated by commas")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    count = 200 if arguments.quick else arguments.texts
    if arguments.side is not None:
        nouns = ProperNouns(
            pipeline=arguments.pipeline, tags=tuple(arguments.tags.split(",")), actors=max(1, arguments.side)
        )
        side(nouns, arguments.side > 0, count)
        return
    with tempfile.TemporaryDirectory() as folder:
        pipeline, tags = arguments.pipeline, arguments.tags
        if pipeline is None:
            pipeline, tags = trained(Path(folder)), "NNP"
        command: list[object] = [sys.executable, "-m", "benchmarks.tagging", "--pipeline", pipeline, "--tags", tags]
        command += ["--texts", count, "--side"]
        names = {"no Ray, one process": 0, "one actor": 1, "two actors": 2}
        sides = {name: Side(name, (*command, actors)) for name, actors in names.items()}
        words = sides["one actor"].ask()["words"]
        for made in sides.values():
            made.ask()
        for _ in range(1 if arguments.quick else arguments.runs):
            for made in sides.values():
                made.time()
        spans = {made.runs[-1]["spans"] for made in sides.values()}
        assert len(spans) == 1, f"the sides found {spans} words"
        print(f"{count:,} texts, {words:,} words, {spans.pop():,} proper nouns; {os.cpu_count()} CPUs")
        for name, made in sides.items():
            took = made.median("wall_s")
            print(f"{name:20} {words / took:>10,.0f} words/s wall {sides['one actor'].median('wall_s') / took:>8.2f}x")
            made.__exit__()


def side(nouns: ProperNouns, on_ray: bool, count: int) -> None:
    """Answers each line with a run: by actors, or in this process."""
    texts = [Example(str(i), text) for i, text in enumerate(written(count))]
    if on_ray:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    for _ in sys.stdin:
        wall = time.perf_counter()
        if on_ray:
            with taggers(RayExecutor(), nouns) as tagging:
                found = [e.nouns or () for e in marked(tagging, nouns, {"all": texts})["all"]]
        else:
            found = [spans for one in WordTagger(nouns)([e.text for e in texts]) for spans in one.values()]
        answer = {
            "wall_s": time.perf_counter() - wall,
            "words": sum(len(e.text.split()) for e in texts),
            "spans": sum(map(len, found)),
        }
        print(json.dumps(answer), flush=True)


def written(count: int) -> list[str]:
    """Texts of WORDS words from the news of the synthetic world."""
    start, end = span("202301")
    world = SyntheticWorld(initial_documents=min(2500, 3 * count))
    words = [word for d in world.documents(Period(label="202301", start=start, end=end)) for word in d.text.split()]
    return [" ".join((words * 2)[(i * WORDS) % len(words) :][:WORDS]) for i in range(count)]


def trained(folder: Path) -> Path:
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example as Lesson

    pipeline = spacy.blank("en")
    pipeline.add_pipe("tagger")
    lessons = []
    for text in written(20):
        doc = pipeline.make_doc(text)
        tags = ["NNP" if token.is_title else "NN" for token in doc]
        spaces = [bool(token.whitespace_) for token in doc]
        lessons.append(Lesson(doc, Doc(pipeline.vocab, [token.text for token in doc], spaces, tags=tags)))
    optimizer = pipeline.initialize(lambda: lessons)
    for _ in range(3):
        pipeline.update(lessons, sgd=optimizer)
    pipeline.to_disk(folder / "pipeline")
    return folder / "pipeline"


if __name__ == "__main__":
    main()
