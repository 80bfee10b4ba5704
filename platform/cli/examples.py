"""Examples and pointers to the documentation, as they end the help of each command."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, tuple[str, ...]]] = {
    # command: the file of docs/ that tells more, and commands that work as they stand
    "list": ("first-hour.md", ("ticlm list", "ticlm list methods", "ticlm list --root runs --json")),
    "show": (
        "reference.md",
        ("ticlm show demo", "ticlm show replay-half", "ticlm show monthly --as recipe --set length=256"),
    ),
    "schema": ("reference.md", ("ticlm schema study --out study.json",)),
    "docs": ("manual.md", ("ticlm docs", "ticlm docs first-hour", "ticlm docs --path")),
    "convert": (
        "evaluations.md",
        ("ticlm convert oracle_1b_8x_cutoff201501/epoch_21.pt models/oracle-201501 --tokenizer gpt-neox-20b",),
    ),
    "init": (
        "first-hour.md",
        (
            "ticlm init posts/*.jsonl.gz",
            "ticlm init posts/ --minutes 10 --name posts",
            "ticlm init s3://bucket/folder --minutes 60",
            "ticlm init posts/ --model my-model/ --as-of 201712",
        ),
    ),
    "plan": (
        "first-hour.md",
        (
            "ticlm plan tic-lm-3b-440b --price 2.5",
            "ticlm plan demo",
            "ticlm plan my-study.yaml --set batch_rows=16",
            "ticlm plan demo --json",
        ),
    ),
    "run": (
        "first-hour.md",
        (
            "ticlm run demo",
            "ticlm run demo --set resources.workers=1",
            "ticlm run my-study.yaml --root s3://bucket/ticlm",
            "ticlm run demo --set 'methods=[cyclic-cosine]' --set methods.0.schedule.warmup_steps=3",
        ),
    ),
    "update": ("first-hour.md", ("ticlm update news.yaml posts/201707.jsonl.gz", "ticlm update news.yaml")),
    "append": ("data.md", ("ticlm append posts.recipe.yaml posts/201707.jsonl.gz",)),
    "train": ("reliability.md", ("ticlm train demo",)),
    "eval": (
        "evaluations.md",
        (
            "ticlm eval demo",
            "ticlm eval demo/replay-half@202306 --tasks tasks.yaml",
            "ticlm eval path/to/a/model --tasks core --json",
            "ticlm eval path/to/a/model path/to/another --texts posts/ --limit 20",
        ),
    ),
    "age": (
        "age.md",
        (
            "ticlm age path/to/a/model",
            "ticlm age path/to/a/model --claimed 2024-08 --json",
            "ticlm age 'ages/*@*' --facts ages-facts",
        ),
    ),
    "status": ("manual.md", ("ticlm status", "ticlm status demo --json", "ticlm status --root s3://bucket/ticlm")),
    "report": ("report.md", ("ticlm report demo", "ticlm report demo other-study.yaml --json")),
    "predict": ("report.md", ("ticlm predict monthly", "ticlm predict monthly monthly-common-rate --json")),
    "publish": (
        "vintages.md",
        (
            "ticlm publish demo/replay-half --to vintages --with-inputs",
            "ticlm publish demo/replay-half --to ORG/NAME --private-key key.pem --licence apache-2.0",
            "ticlm publish my-study.yaml/replay-half --to ORG/NAME --dry-run",
        ),
    ),
    "verify": (
        "vintages.md",
        (
            "ticlm verify vintages",
            "ticlm verify vintages --vintage 202306 --replay 3",
            "ticlm verify ORG/NAME@202306 --public-key key.pub --json",
        ),
    ),
    "tune": (
        "evaluations.md",
        (
            "ticlm tune cyclic-cosine demo --values schedule.max_rate=4e-3,2e-3,1e-3",
            "ticlm tune small_learning_rate monthly --search optuna --trials 16",
        ),
    ),
    "choose": ("evaluations.md", ("ticlm choose trials.csv",)),
    "submit": (
        "cluster.md",
        ("ticlm submit demo --address http://HEAD:8265 --root s3://bucket/ticlm",),
    ),
    "clean": ("reliability.md", ("ticlm clean demo", "ticlm clean demo other-study.yaml --remove")),
    "check": ("reliability.md", ("ticlm check --root runs",)),
    "generate": (
        "evaluations.md",
        (
            'ticlm generate demo/replay-half@202306 "The council of"',
            'ticlm generate path/to/a/model "The council of" --temperature 0.8 --seed 1',
        ),
    ),
    "chaos": ("reliability.md", ("ticlm chaos demo --kills 10 --mtbf 60",)),
    "data build": (
        "data.md",
        (
            "ticlm data build synthetic",
            "ticlm data build monthly --set documents.paths='[my/*.jsonl.gz]'",
            "ticlm data build my-recipe.yaml --root s3://bucket/ticlm",
        ),
    ),
    "data show": ("data.md", ("ticlm data show synthetic", "ticlm data show synthetic --period 202301 --json")),
    "data lint": (
        "data.md",
        (
            "ticlm data lint synthetic",
            "ticlm data lint monthly --set documents.paths='[my/*.jsonl.gz]'",
            "ticlm data lint my-recipe.yaml --names names.csv --examples 20 --json",
        ),
    ),
    "data": ("data.md", ("ticlm data build synthetic", "ticlm data show synthetic")),
    "": ("README.md", ("ticlm list", "ticlm plan demo", "ticlm run demo", "ticlm report demo")),
}


def epilog(command: str) -> str | None:
    """Return the last lines of a command's help, in rich markup; None if it has no examples."""
    if command not in EXAMPLES:
        return None
    page, examples = EXAMPLES[command]
    lines = ["Examples:", *(f"  {example}" for example in examples), f"More: ticlm docs {page.removesuffix('.md')}"]
    return "\n\n".join(line.replace("[", r"\[") for line in lines)
