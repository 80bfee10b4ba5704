"""The tables of CKL about probes: its FUARs beside those of its scores, and what sets of probes ask for.

python -m benchmarks.experiments.probes printed
python -m benchmarks.experiments.probes types SET…          # sets of examples by path or URI; words count as tokens
python -m benchmarks.experiments.probes rates STUDY… --root ROOT
python -m benchmarks.experiments.probes seeds STUDY… --root ROOT       # of tuned copies
python -m benchmarks.experiments.probes learned STUDY… --root ROOT
python -m benchmarks.experiments.probes answers STUDY… --set SET [--methods …] [--ids …] --root ROOT
python -m benchmarks.experiments.probes gap STUDY… --set SET --root ROOT     # needs answer_types in the set's recipe
python -m benchmarks.experiments.probes rehearsed STUDY… --root ROOT       # its old corpora are a fact-world's
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.synthetic.fact_world.world import FactWorldText
from ticlm.platform.analysis.answers import changes, gained, gap, overlapping
from ticlm.platform.analysis.tuned_seeds import over_seeds
from ticlm.platform.cli.options import plan_of
from ticlm.platform.papers.ckl.fuar import text
from ticlm.platform.papers.ckl.learning_rates import trade_off
from ticlm.platform.papers.ckl.printed import ckl_tables
from ticlm.platform.papers.ckl.settings import FuarRequest
from ticlm.platform.papers.ckl.study_fuar import fuar_tables
from ticlm.platform.results.answer_types import answer_type, composition, statistics
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.settings import load

if TYPE_CHECKING:
    import pandas as pd


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "table", choices=("printed", "types", "rates", "seeds", "learned", "answers", "gap", "rehearsed")
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="sets of examples, or studies")
    parser.add_argument("--root", default="runs")
    parser.add_argument("--set", help="the set of examples that was asked: a path or URI")
    parser.add_argument("--methods", nargs="*", default=[], help="by default all of the study")
    parser.add_argument("--ids", nargs="*", default=[], help="by default some that the first method learned")
    options = parser.parse_args(arguments)
    if bool(options.names) == (options.table == "printed"):
        parser.error("NAME: printed takes none, the others need one")
    if (options.table in ("answers", "gap")) != (options.set is not None):
        parser.error("--set: answers and gap need it, the others take none")
    try:
        match options.table:
            case "printed":
                printed()
            case "types":
                for uri in options.names:
                    types(uri)
            case "rates":
                rates(options.names, options.root)
            case "seeds":
                seeds(options.names, options.root)
            case "learned":
                learned(options.names, options.root)
            case "answers":
                answers(options.names, options.root, options.set, options.methods, options.ids)
            case "gap":
                gaps(options.names, options.root, options.set)
            case "rehearsed":
                rehearsed(options.names, options.root)
    except InputError as error:
        raise SystemExit(str(error)) from None


def answers(studies: Sequence[str], root: str, uri: str, methods: Sequence[str], ids: Sequence[str]) -> None:
    """Print what methods answer to probes after each checkpoint (CKL, Tables 6 and 12)."""
    probes = {one.id: one for held in subsets(uri).values() for one in held}
    for name in studies:
        frame, checkpoints = predictions(name, root)
        frame = frame[frame["rank"].isna()]  # ranks have no text
        shown = list(methods) or list(dict.fromkeys(frame["method"]))
        mine = frame[(frame["method"] == shown[0]) & frame["step"].isna()]
        first, last = (mine[mine["trained"] == label] for label in (checkpoints[0], checkpoints[-1]))
        wanted = list(ids) or list(dict.fromkeys(one for one in gained(first, last) if one in probes))[:10]
        print(changes(frame, shown, probes, wanted).to_string(index=False))


def gaps(studies: Sequence[str], root: str, uri: str) -> None:
    """Print the exact match of each method's last checkpoint on the persons that `updated` and `new` both ask for, and
    what its exact match is made of (CKL, Figure 8)."""
    sets = subsets(uri)
    pairs = overlapping(sets.get("updated", []), sets.get("new", []))
    kinds = {one.id: answer_type(one) for held in sets.values() for one in held}
    for name in studies:
        frame, checkpoints = predictions(name, root)
        ends = frame[frame["step"].isna() & (frame["trained"] == checkpoints[-1]) & frame["rank"].isna()]
        for method, rows in ends.groupby("method", sort=False):
            found = gap(rows, rows, pairs)
            print(f"{method}: {found.pairs} shared answers, updated {found.first:.3f}, new {found.second:.3f}")
            print(composition(rows, kinds).to_string(index=False, float_format="{:.3f}".format))


def rehearsed(studies: Sequence[str], root: str) -> None:
    """Print the exact match of each method on invariant facts at the end: on those that an old corpus of the study
    covers, a part of all, and on the others."""
    print(f"{'old corpus':28}{'method':28}{'covered':>16}{'others':>16}")
    for name in studies:
        frame, checkpoints = predictions(name, root)
        ends = frame[frame["step"].isna() & (frame["trained"] == checkpoints[-1]) & (frame["label"] == "invariant")]
        for corpus in dict.fromkeys(old.corpus for _, old in load(name).old_corpora):
            text = settings.load(CorpusRecipe, corpus, settings.RECIPES).documents
            covered = [fact.id for fact in text.told("old")] if isinstance(text, FactWorldText) else []
            for method, rows in ends.groupby("method", sort=False):
                inside = rows["id"].isin(covered)
                parts = (rows.loc[inside, "exact"], rows.loc[~inside, "exact"])
                cells = (f"{part.mean():.3f} of {len(part)}" if len(part) else "–" for part in parts)
                print(f"{corpus:28}{method:28}" + "".join(f"{cell:>16}" for cell in cells))


def predictions(study: str, root: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the kept predictions of a study, and its checkpoints. Raises InputError if there are none."""
    result = study_result(plan_of(study, root, None))
    if result.predictions is None:
        raise InputError(f"{study}: none of its evaluations keeps predictions; ask generated-answers")
    return result.predictions, result.checkpoints


def subsets(uri: str) -> dict[str, list[Example]]:
    """Return the examples with an answer of each subset of a set, over all its periods."""
    data, found = Examples.open(uri), dict[str, list[Example]]()
    for label, held in data.periods.items():
        for name in held.subsets:
            found.setdefault(name, []).extend(one for one in data.read(label, name) if one.answer is not None)
    return found


def rates(studies: Sequence[str], root: str) -> None:
    """Print the scores and the FUAR of each method at its last checkpoint, by its peak learning rate."""
    results = [study_result(plan_of(name, root, None)) for name in studies]
    asked = [(study, one) for study in results for one in study.tables if isinstance(one, FuarRequest)]
    found = fuar_tables(asked)
    print(trade_off(found).to_string(index=False, float_format="{:.4g}".format, na_rep="–"))


def seeds(studies: Sequence[str], root: str) -> None:
    """Print the scores of tuned copies: means over the seeds, and deviations between copies (CKL, Table 10)."""
    for name in studies:
        found = over_seeds(study_result(plan_of(name, root, None)).static)
        print(found.to_string(index=False, float_format="{:.4g}".format, na_rep="–"))


def learned(studies: Sequence[str], root: str) -> None:
    """Print what one more round teaches: the exact match on each period's probes of the checkpoint that trained on it,
    and of the one before, over all periods, with the difference in its standard errors, paired over probes."""
    print(f"{'method':20}{'task':20}{'probes':>8}{'before':>9}{'after':>9}{'difference':>12}{'errors':>9}")
    for name in studies:
        frame, checkpoints = predictions(name, root)
        ends = frame[frame["step"].isna()]
        later = dict(pairwise(checkpoints))
        known = [*("method", "seed", "task", "label", "id")]
        dated = ends[ends["label"].isin(checkpoints)]
        before = dated[dated["trained"].map(later.get) == dated["label"]].set_index(known)["exact"]
        after = dated[dated["trained"] == dated["label"]].set_index(known)["exact"]
        both = before.rename("before").to_frame().join(after.rename("after"), how="inner")
        for (method, task), rows in both.groupby(["method", "task"], sort=False):
            old, new = (rows[column].to_numpy(float) for column in ("before", "after"))
            apart, error = new - old, (new - old).std(ddof=1) / len(rows) ** 0.5
            means = f"{old.mean():9.3f}{new.mean():9.3f}{apart.mean():12.3f}"
            print(f"{method:20}{task:20}{len(rows):8}{means}{apart.mean() / error if error else 0:9.1f}")


def printed() -> None:
    """Print every FUAR of the paper beside the one that its scores give."""
    print(f"{'table':24}{'method':20}{'printed':>9}{'computed':>10}{'forgotten':>11}{'gained':>9}")
    for table in ckl_tables().tables:
        for method, row in table.rows.items():
            found, there = table.computed(method), "no gain" if row.fuar is None else text(row.fuar)
            sums = f"{found.numerator:11.3f}{found.denominator:9.3f}"
            mark = "" if there == found.text else "   differs"
            print(f"{table.table:24}{method:20}{there:>9}{found.text:>10}{sums}{mark}")
        if table.note:
            print(f"  {table.note}")


def types(uri: str) -> None:
    """Print the size, the mean words of texts and answers, and the types of answers of each subset of a set."""
    found = statistics(subsets(uri), tokens=lambda words: len(words.split()))
    print(found.to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
