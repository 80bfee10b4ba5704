"""What messages tell users to do: each remedy that the code prints is in the table below, with the test that follows it
as printed, or the reason why there is nothing to follow."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from finished import results, run
from paths import ROOT

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.run.check import check
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import Study

HERE = "tests/platform/run/test_remedies.py"
KINDS = "tests/platform/run/test_each_kind.py"
EACH = f"{KINDS}::test_the_remedy_that_is_printed_works_on_each_kind"
"""Follows it on each kind of file that prints it; `support/everykind.py` has the kinds."""
DAMAGE = "tests/platform/run/test_damage.py"
SETTING = "another setting or recipe is needed; nothing is to be repaired"
BUILD = "every test of a build follows it"
WAIT = "a second run waits for the first to end"
NEWS = "news of what the program does itself"
LOST = "tests/datasets/corpus/test_lost_periods.py"
VINTAGES = (
    "tests/platform/publish/places/test_kills.py::test_a_hub_never_has_half_a_vintage",
    "tests/platform/publish/places/test_kills.py::test_a_folder_and_a_bucket_never_have_half_a_vintage",
)
OUTSIDE = "it is done outside: a disk, a cluster, a download, or files of the user's"

TABLE = {
    "remove {} to make them again": (
        "tests/datasets/evalsets/test_retrieved_contexts.py::test_damaged_vectors_are_named_with_what_to_remove",
        "tests/datasets/evalsets/test_retrieved_contexts.py::test_damaged_records_of_an_index_are_named_too",
    ),
    "{} has changed since the build began; build again": BUILD,
    "{}: a prediction needs {} trials that end, and {} did; without the option, the same search chooses by their "
    "scores and trains none of them again": (
        "tests/platform/tuning/test_extrapolate.py::test_how_a_search_chooses_is_no_part_of_its_folder"
    ),
    "methods.{}.replay: its shares follow from losses on {} rows, and corpus {} has none in the study's periods; build "
    "it with a larger splits.{}": SETTING,
    "a copy of the chat model died {} times ({}); what was answered is kept: run it again to go on, with fewer "
    "chat.workers if memory was short": (
        "tests/datasets/evalsets/test_evolving_questions.py::test_a_build_that_is_killed_makes_no_call_twice"
    ),
    "corpus {} keeps no spans of its rows; build one with rows: salient-spans": SETTING,
    # text as it stands in the code, with {} for values: the test that follows it, or a reason
    "remove {} and append it again with {}": (
        EACH,
        f"{DAMAGE}::test_a_damaged_shard_is_neither_trained_on_nor_scored",
        f"{LOST}::test_a_damaged_period_is_built_again_as_its_message_says",
        "tests/datasets/evalsets/test_recipe.py::test_a_period_that_was_damaged_and_removed_is_built_again",
    ),
    "remove {} to train this round again": (EACH, f"{DAMAGE}::test_a_damaged_parent_is_not_trained_on"),
    "remove it to redo this work": (
        EACH,
        f"{DAMAGE}::test_a_round_whose_record_is_removed_is_trained_again_to_the_same_bits",
    ),
    "remove {} to redo this work": EACH,
    "restore it from a copy, or remove {} and build it again with {}": (
        EACH,
        f"{LOST}::test_a_corpus_whose_description_is_damaged_is_built_again",
    ),
    "remove it and run {}, which writes it again and keeps the periods": (
        EACH,
        "tests/datasets/evalsets/test_recipe.py::test_what_describes_a_set_is_written_again_and_its_periods_stay",
    ),
    "remove it to score its cells again": EACH,
    "{} is damaged ({}); remove {} to score its checkpoint again": (
        EACH,
        "tests/platform/results/test_kept_answers.py::test_damaged_predictions_are_found_and_scored_again",
    ),
    "{}: not the tokenizer that cut the corpus; copy it from the model folder of a finished round, or remove {} and "
    "build it again with ticlm data build": f"{HERE}::test_a_tokenizer_is_copied_from_a_finished_round",
    "copy it from the model folder of a finished round, or build the corpus again": (
        "tests/datasets/corpus/test_growth.py::test_a_damaged_record_of_new_tokens_is_named_and_copied_from_another_folder"
    ),
    "methods.{}.deploy averages models inside {} trained without publishing them, at period {} first: take another "
    "root, or remove {} to train that round again": (
        "tests/platform/run/test_step_averages.py::test_rounds_that_were_trained_without_models_inside_are_named"
    ),
    "{}: no record, though {} {}; run its study again": f"{HERE}::test_a_lost_record_is_made_again",
    "{}: no period there says what it was built from; build the corpus again": BUILD,
    "{}: its recipe has keys that are not known; build the corpus again": BUILD,
    "{}: its recipe now means another corpus; build the corpus again": BUILD,
    "{}: no record, though its weights were scored; run its study again": f"{HERE}::test_a_lost_record_is_made_again",
    "no record, though {} names it; append it again with {}": (
        f"{KINDS}::test_a_lost_period_of_a_set_is_not_evaluated_around",
        "tests/datasets/evalsets/test_recipe.py::test_a_period_that_was_damaged_and_removed_is_built_again",
    ),
    "checkpoint {} is not of this model: {} of shape {} is {}; remove it": (
        "tests/platform/train/test_trainer.py::test_a_checkpoint_of_another_model_is_refused_in_one_line"
    ),
    "corpus {} has no period {}{}, which the study trains on; append it with {}, or shorten "
    "periods": f"{LOST}::test_a_lost_period_is_built_again_and_the_others_stay",
    "corpora.{}: corpus {} has no period {}, which ends by the end of the study; append it with {}, or cut "
    "its periods": ("tests/platform/run/test_further_corpora.py::test_a_missing_period_is_appended_or_cut"),
    "  {} was built and is not there any more; ticlm data build makes it again": (
        f"{LOST}::test_a_lost_period_is_built_again_and_the_others_stay"
    ),
    "what study {} uses is not known: the shares of {} of its rounds are open until losses are measured; when ticlm "
    "train has measured them, the same command cleans": f"{KINDS}::test_nothing_is_cleaned_while_shares_are_open",
    "{} was built and is not there any more; set periods.last to {} to build it again": (
        f"{LOST}::test_a_lost_period_after_the_end_of_the_calendar_is_said"
    ),
    "{}: the corpus's tokenizer is gone; restore its folder from a copy, or from the model/ of any round that was "
    "trained on the corpus": (
        "tests/platform/cli/test_cli.py::"
        "test_a_tokenizer_that_is_gone_is_named_before_anything_is_trained_and_comes_back_from_a_model"
    ),
    "{} in a row were lost {}; of the last, {}; what was scored is kept, and the same command goes on": (
        "tests/platform/eval/test_fanout.py::test_a_node_lost_under_an_evaluator_costs_what_it_was_scoring"
    ),
    "{}: no good answer in {} tries within {} s ({}); the last: {}; what is finished is kept, and the same command "
    "goes on": OUTSIDE,
    "the storage does not work as it should; when it does, run the same command again": OUTSIDE,
    "the head of Ray at {} is lost: it has not answered for {} s; Ray ends this command unless it comes back within a "
    "minute; what is finished is kept, and the same command goes on once there is a Ray": OUTSIDE,
    "that Ray has no token, and this process asks whoever calls it for the one in {}; run the same command again with "
    "RAY_AUTH_MODE=disabled (Ray says: {})": (
        "tests/platform/cluster/test_connect.py::test_a_token_that_only_one_side_has_is_named_with_a_remedy_that_works"
    ),
    "Ray did not start on this machine ({}); run the same command again when the machine is less busy and its "
    "temporary folder has room": OUTSIDE,
    "{}: period {} is lost and cannot be built again: {}{}; put its inputs back as they were, or build a new version": (
        OUTSIDE
    ),
    "{}: {}; trying again for up to {} s": NEWS,
    "; built again later: {}": NEWS,
    "{}: {} broke off: {}; the same command goes on from where it stopped": (
        "tests/core/test_hub.py::test_a_download_that_is_cut_goes_on_and_one_that_stays_cut_is_said"
    ),
    "stopped; the same command goes on from here": (
        "tests/platform/cluster/test_jobs.py::test_the_demo_is_stopped_and_goes_on_to_the_weights_of_an_unbroken_run"
    ),
    "job {} was stopped; the same command goes on from there": (
        "tests/platform/cluster/test_jobs.py::test_the_demo_is_stopped_and_goes_on_to_the_weights_of_an_unbroken_run"
    ),
    "root {}: another writer started at the same moment; run again when it is done": (WAIT),
    "root {} was taken over by {} while this process stood still; what it had finished is kept; run the same command "
    "again when the other one is done": (
        "tests/platform/run/test_takeover.py"
        "::test_a_writer_that_was_stopped_for_too_long_ends_in_one_line_and_its_heir_finishes"
    ),
    "free some space, then run the same command again": (
        "tests/platform/cli/test_cli.py::test_a_disk_that_fills_stops_the_run_in_one_line_and_loses_nothing"
    ),
    "corpus {}: not there; build it with: {}": BUILD,
    "corpus {}: not there yet; build it with: {}": BUILD,
    "{}: no corpus there (no {}); build one with: {}": BUILD,
    "{}: no examples there (no {}); build them with: {}": BUILD,
    "{} of {}, which no corpus has yet: build it first": (
        "tests/platform/study/test_tree.py::test_a_budget_may_be_in_epochs_once_the_rows_are_counted"
    ),
    "{} of {} inputs could not be read, limits.inputs allows {}; the first: {}; what was read is kept: run it again to "
    "go on, or raise limits.inputs to leave them out": (
        "tests/datasets/corpus/test_build.py::test_a_build_interrupted_after_any_step_goes_on_to_the_same_bytes"
    ),
    "{}: period {} is built again, and needs an input that cannot be read: {}; what was read is kept: run it again to "
    "go on": (
        "tests/datasets/corpus/test_lost_periods.py::test_an_input_that_cannot_be_read_now_is_not_said_to_have_changed"
    ),
    "documents of {} wait in {}, which cannot be read now, so the period is not built; what was read is kept: run it "
    "again to go on": (
        "tests/datasets/corpus/test_open_periods.py::"
        "test_a_file_that_waits_and_cannot_be_read_for_a_while_keeps_its_period_open"
    ),
    "the build stopped: {}; run it again to go on": (
        "tests/datasets/corpus/test_build.py::test_a_killed_build_of_one_process_goes_on_and_never_imports_ray"
    ),
    "the build stopped: a process died {} times of the same work ({}); what is done is kept: run it again to go on, "
    "with more memory if that was short": (
        "tests/datasets/corpus/test_build.py::test_work_of_which_processes_die_ends_with_a_line",
        "tests/datasets/corpus/test_build.py::test_a_build_interrupted_after_any_step_goes_on_to_the_same_bytes",
    ),
    "evaluate.periods names {}, which has no {} row in corpus {}; leave it out, or rebuild with a larger "
    "share": SETTING,
    "{}: corpus {} was cut with another tokenizer than {}; build it with tokenizer: {kind: pretrained, "
    "name: …/tokenizer}": SETTING,
    "{}: corpus {} has rows of {}, {} of {}; build it with the same columns, no longer than these": SETTING,
    "{}: corpus {} has other columns than {}; build it with these": SETTING,
    "{}: the proper nouns of examples {} ({}, {}) were never marked; say `nouns:` in their recipe, and build it as "
    "another version": SETTING,
    "{}: the parts of speech of examples {} ({}, {}) were never marked; say `parts_of_speech:` in their recipe, and "
    "build it as another version": SETTING,
    "the choice is kept in {}, but corpus {} has no period {} yet, to try it on all periods: append it, or say "
    "--all-periods none": SETTING,
    "{} has no tokenizer, and the task reads text; put its files there": OUTSIDE,
    "job {} is lost from sight: {}; submit it again when the head is back": OUTSIDE,
    "{}: {}.xml breaks off before </{}>; fetch it again": OUTSIDE,
    "Tokens trained on; what a restart repeats is counted again": "the description of a number",
    "Times the chain's workers were started again after a failure": "the description of a number",
    "starting again: {}": NEWS,
    "steps     {} needed, {} done again": "the description of a number",
    "again": "the heading of a column",
    ", {} tries again": "the description of a number",
    "{}; remove this line, and it is asked again": (
        "tests/datasets/llm/test_journal.py::"
        "test_a_damaged_byte_anywhere_is_named_and_the_line_is_asked_again_once_it_is_removed",
        "tests/datasets/llm/test_journal.py::"
        "test_a_line_that_is_no_reply_is_named_in_one_line_and_asked_again_once_it_is_removed",
    ),
    "{}:{} {}; remove this line, and it is asked again": (
        "tests/platform/run/test_check.py::test_damaged_replies_of_chat_models_are_named_by_line"
    ),
    "{}; remove this line, and a build with its model and this file as limits.record asks it again": (
        "tests/datasets/llm/test_journal.py::test_a_damaged_record_of_an_earlier_build_is_mended_by_asking_its_model"
    ),
    "{}; no reply in {} tries; what was answered is kept in {}: run the same command to go on": (
        "tests/datasets/llm/test_asking.py::test_a_refusal_is_not_tried_again_and_tries_have_an_end"
    ),
    "limits.{}: the budget of {} is used up: {}, {} replies ({} tokens) in {}{}; raise limits.{} and run the same "
    "command to go on": (
        "tests/datasets/evalsets/test_probe_construction.py::"
        "test_a_budget_stops_a_build_in_a_line_and_a_larger_one_goes_on"
    ),
    "Score a checkpoint of the study again, beside what is kept.": (
        "tests/platform/eval/test_again.py::test_a_cell_has_the_same_value_again_and_nothing_is_written"
    ),
    "--on, --task and --seed say what to score again: give --again METHOD@PERIOD too": SETTING,
    "no corpus {}{}, and the study names no recipe to build it with; say recipe: FILE": SETTING,
    "not there yet, and no recipe of this name is packaged; build it with: {}": SETTING,
    "the name that a document keeps when it is seen again": "a comment of a recipe",
    "tokenizer.name: {}: no corpus with a tokenizer at {}; build it with: {}": SETTING,
    "{} is damaged; remove it: the next run of the study writes it again": (
        "tests/platform/results/test_begun.py"
        "::test_a_damaged_file_is_named_and_once_it_is_removed_the_next_run_writes_it_again"
    ),
    "{} is not built yet in {}; build it first: ticlm data build {} --root {}": (
        "tests/platform/cli/building/test_append.py::test_a_corpus_that_is_not_built_yet_is_built_first"
    ),
    "{} was changed meanwhile, so it stays as it is; the same command looks at it again": (
        "tests/platform/cli/building/test_append.py::test_a_recipe_that_its_user_changes_meanwhile_stays_as_it_is"
    ),
    "{} was killed about {} ago; the same command goes on from there": NEWS,
    "{}: first_periods ends the study before a new period; remove it": SETTING,
    "{}: {} is not over: it ends on {}; append it then": (
        "tests/platform/cli/building/test_append.py::test_a_file_of_another_time_is_refused_in_one_line"
    ),
    " No round could be run again, though --replay asks for it.": NEWS,
    "; then it trains its last round again and compares the weights bit by bit.": NEWS,
    "Its inputs are not published: its rounds cannot be run again by others.": NEWS,
    "Run N rounds again: its own, then others.": NEWS,
    "a period that was built again, a document that was added or dropped, a date that was changed": NEWS,
    "inputs are not published: nobody can run rounds again (--with-inputs)": NEWS,
    "run again by the same code and hardware, other bits: {}": NEWS,
    "run again in {} s, with the same bits in {} files": NEWS,
    "running again (--seed {}): {}": NEWS,
    "made again: the same rows in {} files": NEWS,
    "{} of {} rounds were not run again, {}": NEWS,
    "no round was run again: --replay 1 does": (
        "tests/platform/verify/test_verify.py::test_all_rounds_run_again_have_the_same_bits"
    ),
    "{}: install that, and try again": OUTSIDE,
    "{} stands with another {} than round {} of this root: its period was built again, or the study changed; "
    "a published vintage never changes, so publish to another name": (
        "tests/platform/publish/test_publishing.py::test_a_period_that_was_built_again_is_refused"
    ),
    "free some space or publish to another folder, then run the same command again": OUTSIDE,
    "the same command goes on from where it stopped": VINTAGES,
    "{}/{}/{}: not there as it was sent; run the same command again": VINTAGES,
    "{}: begun with other files ({} differs) and not whole: another run sends them now, or one was broken off; if none "
    "runs, remove {}, then run the same command again": VINTAGES,
    "{}: changed while it was published; run it again": VINTAGES,
    "{}: changed while it was published; run the same command again": VINTAGES,
    "{}: the hub does not hold what was sent; run the same command again": VINTAGES,
}

REMEDY = re.compile(
    r"\b(remove (it|\{)|; remove|(?<!-)again\b|rebuild|restore|append it|build (it|one|them)\b|the same command)"
    r"|\bput its"
)


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts of a module except docstrings, with {} for values."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                skipped.add(statement.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


def test_every_remedy_that_is_printed_is_followed_by_a_test() -> None:
    """A new one needs a row, and a test that does what it says."""
    printed = {
        text
        for room in ("core", "platform", "methods", "datasets", "tune_spaces")
        for path in (ROOT / room).rglob("*.py")
        for text in texts(ast.parse(path.read_text()))
        if REMEDY.search(text)
    }
    assert printed - TABLE.keys() == set(), "in the code and not in the table"
    assert TABLE.keys() - printed == set(), "in the table and no more in the code"
    for tests in TABLE.values():
        for test in (tests,) if isinstance(tests, str) else tests:
            if "::" in test:
                path, name = test.split("::")
                assert f"def {name}(" in (ROOT / path).read_text(), test


# following them

PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
STUDY: dict[str, Any] = {
    "methods": [PLAIN],
    "periods": {"initial": "202301", "step": "month", "last": "202303"},
    "evaluate": {"inside": {"every_steps": 2}},
}


@pytest.fixture(scope="module")
def template(toy_template: Path, toy_study: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("remedies") / "root"
    shutil.copytree(toy_template, root)
    run(toy_study(**STUDY), root)
    return root


@pytest.fixture
def study(toy_study: Callable[..., Study]) -> Study:
    return toy_study(**STUDY)


def test_a_tokenizer_is_copied_from_a_finished_round(root: Path, study: Study) -> None:
    expected = results(make(study, str(root)))
    damaged = root / "corpora/toy@1/tokenizer/tokenizer.json"
    damaged.write_text(damaged.read_text().replace("w1", "x1"))
    with pytest.raises(InputError, match=f"^{damaged}: not the tokenizer .* copy it from the model folder"):
        run(study, root)
    shutil.copy(sorted(root.glob("rounds/*/*/model/tokenizer.json"))[0], damaged)
    assert results(run(study, root)) == expected
    assert check(Store(root))[1] == []


def test_a_lost_record_is_made_again(root: Path, study: Study) -> None:
    made = make(study, str(root))
    expected = results(made)
    first, *_ = made.tree.rounds
    (root / f"rounds/{made.ids[first][:32]}/record.json").unlink()
    problems = check(Store(root))[1]
    assert len(problems) == 2 and all(problem.endswith("; run its study again") for problem in problems)
    assert results(run(study, root)) == expected
    assert check(Store(root))[1] == []
