"""The 22 tasks of CORE (DataComp-LM), with their shots, by the paths of the files that are published with DCLM."""

from __future__ import annotations

from ticlm.platform.part import Part

ANSWER = "\nAnswer: "

CORE: tuple[Part, ...] = (
    Part(name="hellaswag_zeroshot", file="language_understanding/hellaswag.jsonl"),
    Part(name="jeopardy", file="world_knowledge/jeopardy_all.jsonl", shots=10, delimiter=ANSWER),
    Part(name="bigbench_qa_wikidata", file="world_knowledge/bigbench_qa_wikidata.jsonl", shots=10),
    Part(name="arc_easy", file="world_knowledge/arc_easy.jsonl", shots=10, delimiter=ANSWER),
    Part(name="arc_challenge", file="world_knowledge/arc_challenge.jsonl", shots=10, delimiter=ANSWER),
    Part(name="copa", file="commonsense_reasoning/copa.jsonl"),
    Part(name="commonsense_qa", file="commonsense_reasoning/commonsense_qa.jsonl", shots=10),
    Part(name="piqa", file="commonsense_reasoning/piqa.jsonl", shots=10, delimiter=ANSWER),
    Part(name="openbook_qa", file="commonsense_reasoning/openbook_qa.jsonl"),
    Part(name="lambada_openai", file="language_understanding/lambada_openai.jsonl"),
    Part(name="hellaswag", file="language_understanding/hellaswag.jsonl", shots=10),
    Part(name="winograd", file="language_understanding/winograd_wsc.jsonl"),
    Part(name="winogrande", file="language_understanding/winogrande.jsonl"),
    Part(name="bigbench_dyck_languages", file="symbolic_problem_solving/bigbench_dyck_languages.jsonl", shots=10),
    Part(name="agi_eval_lsat_ar", file="symbolic_problem_solving/agi_eval_lsat_ar.jsonl", shots=3),
    Part(name="bigbench_cs_algorithms", file="symbolic_problem_solving/bigbench_cs_algorithms.jsonl", shots=10),
    Part(name="bigbench_operators", file="symbolic_problem_solving/bigbench_operators.jsonl", shots=10),
    Part(name="bigbench_repeat_copy_logic", file="symbolic_problem_solving/bigbench_repeat_copy_logic.jsonl", shots=10),
    Part(name="squad", file="reading_comprehension/squad.jsonl", shots=10),
    Part(name="coqa", file="reading_comprehension/coqa.jsonl"),
    Part(name="boolq", file="reading_comprehension/boolq.jsonl", shots=10, delimiter=ANSWER),
    Part(
        name="bigbench_language_identification",
        file="language_understanding/bigbench_language_identification.jsonl",
        shots=10,
    ),
)
"""Shots are those of the settings released with TiC-LM. The files' paths and delimiters are DCLM's as far as they are
known here; where a release differs, a part names its own."""
