"""The proposal of a recipe and a study for files: looks at them, chooses, writes, and checks what was written."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from ticlm.core import paths, settings
from ticlm.core.corpus import INFO, Corpus
from ticlm.core.errors import InputError
from ticlm.core.reading import mappings
from ticlm.core.store import Store
from ticlm.datasets.corpus.recipe import FOLDER as RECIPES
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.proposal import continued, names, practice, prompts, repeats, sentences, sizing, speed, text
from ticlm.platform.proposal.inspection import Inspection
from ticlm.platform.proposal.ladder import LADDER
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import SEARCHED, Sizes
from ticlm.platform.proposal.speed import Pace
from ticlm.platform.study import settings as studies
from ticlm.platform.tuning.search import PERIODS


@dataclass(frozen=True)
class Proposal:
    """A recipe and a study as texts, with what they were made from."""

    name: str
    recipe: str
    study: str
    found: Inspection
    chosen: ChosenPeriods
    sizes: Sizes
    samples: str = ""
    """The recipe of samples of the model that the study goes on with; empty: it trains one."""

    @property
    def is_older(self) -> bool:
        """Whether all of the text is older than the model that the study goes on with."""
        model = self.sizes.shape
        return isinstance(model, continued.ExistingModel) and self.chosen.timeline.periods[-1].end <= model.after

    @property
    def files(self) -> dict[str, str]:
        """The texts by the name of their file."""
        samples = (self.samples,) if self.samples else ()
        return dict(zip(names.files_of(self.name, bool(samples)), (self.recipe, *samples, self.study)))

    def sentences(self) -> list[str]:
        """Return the choices in a few sentences."""
        return sentences.of(self.found, self.chosen, self.sizes)

    def search(self, minutes: float, study: str, place: Sequence[str]) -> str | None:
        """Return the command that tries other peaks of replay in the study, if the minutes that this leaves allow; for
        a model that exists, the one that finds its peak on the first periods, whatever it takes."""
        if self.samples and self.is_older:
            return None  # a search may not know of a model that is later than its periods
        if self.samples:
            peak, periods = self.sizes.rates[0], min(SEARCHED, len(self.chosen.timeline.labels))
            values = "schedule.max_rate=" + ",".join(f"{peak * times:.2g}" for times in (0.5, 1, 2, 4, 8))
            few = ["--set", f"first_periods={periods}", "--values", values, "--all-periods", "none"]
            return shlex.join(["ticlm", "tune", "replay-half", study, *few, *place])
        if self.sizes.search_minutes > minutes - self.sizes.minutes:
            return None
        peak, periods = self.sizes.rates[0 if self.samples else 1], len(self.chosen.timeline.labels)
        first = ["--set", f"first_periods={max(2, periods - 1)}"] if periods <= PERIODS else []
        values = f"schedule.max_rate={peak / 2:g},{peak:g},{2 * peak:g}"
        return shlex.join(["ticlm", "tune", "replay-half", study, *first, "--values", values, *place])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return a row for each period: its label, documents, tokens, and tokens that are held out."""
        sizes = self.sizes
        return [
            (label, f"{amount.documents:,.0f}", f"{tokens:,}", f"{round(tokens * sizes.eval):,}")
            for label, amount, tokens in zip(self.chosen.timeline.labels, self.chosen.amounts, sizes.tokens)
        ]


def propose(
    found: Inspection,
    picked: ChosenPeriods,
    minutes: float,
    name: str,
    root: str,
    command: str,
    pace: Callable[[], Pace] | None = None,
    model: continued.ExistingModel | None = None,
) -> Proposal:
    """Return the proposal for files that were looked at, their periods, and minutes of this machine, whose pace is
    measured; with a model that exists, it goes on with that. Raises InputError, in a line, if that is too little
    time."""
    if model is not None:
        sizes = continued.fitted(picked, minutes, speed.cores(), model, pace() if pace else continued.pace(model))
    else:
        sizes = sizing.fitted(picked, minutes, speed.cores(), cache(lambda size: _tokens(found, size)), pace or _pace)
    version = _free_version(name, lambda one: text.recipe(name, one, command, found, picked, sizes), root)
    recipe = text.recipe(name, version, command, found, picked, sizes)
    samples, corpora = "", [_id(name, version)]
    if model is not None:
        beside = practice.samples_name(name)
        version = _free_version(beside, lambda one: practice.samples(name, one, command, picked, sizes), root)
        samples = practice.samples(name, version, command, picked, sizes)
        corpora.append(_id(beside, version))
    files, said = names.files_of(name, model is not None), prompts.openings(found.sample)

    def made(fitting: Sizes) -> Proposal:
        write = text.study if model is None else practice.study
        study = write(name, corpora, files[:-1], command, picked, fitting, minutes, said)
        return Proposal(name, recipe, study, found, picked, fitting, samples)

    sizes = repeats.settled(sizes, lambda fitting: _read(made(fitting).files))
    _read(made(sizes).files)
    return made(sizes)


def write(made: Proposal, folder: Path, force: bool) -> list[Path]:
    """Write the files of a proposal into a folder, and return their paths."""
    names.check(made.name, folder, force, bool(made.samples))
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in made.files.items():
        (folder / file).write_text(content)
    return [folder / file for file in made.files]


def _tokens(found: Inspection, vocabulary: int) -> float:
    return speed.bytes_per_token(found.sample, vocabulary)


def _pace() -> Pace:
    """Return the pace of this machine, measured with a small and a larger model."""
    points = []
    for shape in (LADDER[2], LADDER[5]):
        seconds = speed.step_seconds(shape.model, shape.vocabulary, 4, sizing.LENGTH)
        points.append((shape.parameters, 4, *seconds))
    return Pace.through(points)


def _id(name: str, version: int) -> str:
    return name if version == 1 else f"{name}@{version}"


def _free_version(name: str, recipe: Callable[[int], str], root: str) -> int:
    """Return the first version of a corpus that a root has not, or that this recipe made."""
    return next(version for version in count(1) if _is_free(name, version, recipe(version), root))


def _is_free(name: str, version: int, recipe: str, root: str) -> bool:
    """Return whether a root has no corpus of this name and version that another recipe made."""
    store = Store(Store(root).uri(paths.corpus(f"{name}@{version}")))
    if not store.exists(INFO):
        return True
    ours = settings.parse(CorpusRecipe, mappings.read(recipe), f"{name}.yaml")
    return Corpus.open(store.uri()).info.recipe == ours.identity


def _read(files: Mapping[str, str]) -> studies.Study:
    """Return the study, the last of these files, as `ticlm run` will read it; the others are recipes. A fault in any of
    them is ours, and should show here.

    Errors name the files as they will be called, not their copies that are read here.
    """
    with TemporaryDirectory(prefix="ticlm-init-") as folder:
        for file, content in files.items():
            Path(folder, file).write_text(content)
        *recipes, study = (str(Path(folder, file)) for file in files)
        try:
            for recipe in recipes:
                settings.load(CorpusRecipe, recipe, RECIPES)
            return studies.load(study)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None
