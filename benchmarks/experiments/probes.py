"""The tables of CKL about probes: its FUARs beside those of its scores, and what sets of probes ask for.

python -m benchmarks.experiments.probes printed
python -m benchmarks.experiments.probes types SET…          # sets of examples by path or URI; words count as tokens
python -m benchmarks.experiments.probes rates STUDY… --root ROOT
python -m benchmarks.experiments.probes learned STUDY… --root ROOT
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ticlm.platform.analysis.collect import study_result
from ticlm.platform.analysis.probes.answer_types import statistics
from ticlm.platform.analysis.probes.fuar import text
from ticlm.platform.analysis.probes.learning_rates import trade_off
from ticlm.platform.analysis.probes.study_fuar import fuar_tables
from ticlm.platform.analysis.published.ckl import ckl_tables
from ticlm.platform.cli.options import plan_of
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Examples


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("printed", "types", "rates", "learned"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="sets of examples, or studies")
    parser.add_argument("--root", default="runs")
    options = parser.parse_args(arguments)
    if bool(options.names) == (options.table == "printed"):
        parser.error("NAME: printed takes none, the others need one")
    try:
        if options.table == "printed":
            printed()
        elif options.table == "types":
            for uri in options.names:
                types(uri)
        elif options.table == "rates":
            rates(options.names, options.root)
        else:
            learned(options.names, options.root)
    except InputError as error:
        raise SystemExit(str(error)) from None


def rates(studies: Sequence[str], root: str) -> None:
    """Print the scores and the FUAR of each method at its last checkpoint, by its peak learning rate."""
    found = fuar_tables([study_result(plan_of(name, root, None)) for name in studies])
    print(trade_off(found).to_string(index=False, float_format="{:.4g}".format, na_rep="–"))


def learned(studies: Sequence[str], root: str) -> None:
    """Print what one more round teaches: the exact match on each period's probes of the checkpoint that trained on it,
    and of the one before, over all periods, with the difference in its standard errors, paired over probes."""
    print(f"{'method':20}{'task':20}{'probes':>8}{'before':>9}{'after':>9}{'difference':>12}{'errors':>9}")
    for name in studies:
        result = study_result(plan_of(name, root, None))
        assert result.predictions is not None, f"{name} asks no probes"
        ends = result.predictions[result.predictions["step"].isna()]
        later = dict(zip(result.checkpoints, result.checkpoints[1:]))
        known = [*("method", "seed", "task", "label", "id")]
        dated = ends[ends["label"].isin(result.checkpoints)]
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
    data = Examples.open(uri)
    names = dict.fromkeys(name for held in data.periods.values() for name in held.subsets)
    sets = {
        name: [
            one
            for label, held in data.periods.items()
            if name in held.subsets
            for one in data.read(label, name)
            if one.answer is not None
        ]
        for name in names
    }
    found = statistics(sets, tokens=lambda words: len(words.split()))
    print(found.to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
