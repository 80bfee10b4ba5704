"""What pages become: paragraphs of Markdown and of docstrings, licences, and what counts as new."""

from __future__ import annotations

import pytest

from ticlm.datasets.codedocs.doctree import DocBlock
from ticlm.datasets.packages.documents import page_blocks
from ticlm.datasets.packages.licences import is_permissive, stated_licence
from ticlm.datasets.packages.markdown import markdown_blocks
from ticlm.datasets.packages.new_text import KnownText

MIT_TEXT = (
    "MIT License Copyright (c) 2024 Toy Permission is hereby granted, free of charge, to any person "
    'obtaining a copy of this software and associated documentation files (the "Software"), to deal in '
    "the Software without restriction, including without limitation the rights to use, copy, modify, "
    "merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to "
    "whom the Software is furnished to do so, subject to the following conditions: The above copyright "
    "notice and this permission notice shall be included in all copies or substantial portions of the "
    'Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, '
    "INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND "
    "NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES "
    "OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN "
    "CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."
)
PAGE = """---
title: hidden
---
<!-- not shown -->
Toy
===

[![badge](https://x/y.svg)](https://x) A *fine* **toy** for [people](https://x "t") who
add <b>numbers</b>, `a_b` and {py:func}`~toy.add`.

## Use { #use }

!!! note "Careful"
    It counts.

```{tip} At once
:class: wide
It is fast.
```

```{eval-rst}
.. toy:: add
```

- one thing
  goes on
- another ![img](x.png)

  ```python
  toy.add(1)
  ```

```sh
pip install toy

toy
```

| a | b |
|---|---|
| 1 | [two](x) |

[x]: https://x
"""


def test_markdown_is_read_as_paragraphs_below_their_titles() -> None:
    assert markdown_blocks(PAGE) == [
        DocBlock(("Toy",), "A fine toy for people who add numbers, `a_b` and `toy.add`."),
        DocBlock(("Toy", "Use"), "Note: Careful It counts."),
        DocBlock(("Toy", "Use"), "It is fast."),
        DocBlock(("Toy", "Use"), ".. toy:: add", code=True),
        DocBlock(("Toy", "Use"), "- one thing goes on"),
        DocBlock(("Toy", "Use"), "- another\n\n  toy.add(1)"),
        DocBlock(("Toy", "Use"), "pip install toy\n\ntoy", code=True),
        DocBlock(("Toy", "Use"), "a | b\n1 | two"),
    ]


def test_code_at_the_beginning_of_a_line_is_no_block() -> None:
    assert markdown_blocks("```pip install x``` installs it.\n\n```sh\npip\n```\n\nMore.") == [
        DocBlock((), "```pip install x``` installs it."),
        DocBlock((), "pip", code=True),
        DocBlock((), "More."),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A `List<T>` and ``a`<b>`` of `*args, **more*`.", "A `List<T>` and ``a`<b>`` of `*args, **more*`."),
        ("Run pip install <package> here, or Map<K> there.", "Run pip install <package> here, or Map<K> there."),
        ("`a[0](x)` in [`b<c>`](y), **`d`** and {py:func}`~e.f`", "`a[0](x)` in `b<c>`, `d` and `e.f`"),
        ("One <b>bold</b>, <br/> <IMG src='x'> <Youtube id='x'/> <Tip kind={1}>word</Tip>.", "One bold,    word."),
        ("<Tip>\n\nBe careful.\n\n</Tip>", "Be careful."),
        ("A lone ` and <i>more</i>.", "A lone ` and more."),
        ("See <https://x> \ue0007\ue001.", "See https://x ."),
    ],
)
def test_code_and_words_to_be_replaced_are_no_markup(source: str, text: str) -> None:
    assert [block.text for block in markdown_blocks(source)] == [text]


def test_restructured_text_keeps_the_titles_of_lone_sections() -> None:
    source = b"Toy\n===\n\n1.0\n---\n\n- one\n\n  more of one\n- two\n\n::\n\n  code\n"
    assert page_blocks("CHANGES", source, "1.0") == [
        DocBlock(("Toy", "1.0"), "- one\n\n  more of one"),
        DocBlock(("Toy", "1.0"), "- two"),
        DocBlock(("Toy", "1.0"), "code", code=True),
    ]


def test_docstrings_stand_below_their_signatures() -> None:
    words = "Add two numbers, or as many as you like"
    fenced = "```\n    add(1)\n\n    add(2)\n    ```"
    docstring = f"{words}.\n\n    Too short.\n\n    {fenced}\n\n        >>> add(3) # {words}\n    "
    source = f'def add(a, b=2):\n    """{docstring}"""\n'
    assert page_blocks("src/toy/sums.py", source.encode(), "1.0") == [
        DocBlock(("toy.sums.add(a, b=2)",), f"{words}."),
        DocBlock(("toy.sums.add(a, b=2)",), "```\nadd(1)\n\nadd(2)\n```", code=True),
        DocBlock(("toy.sums.add(a, b=2)",), f">>> add(3) # {words}", code=True),
    ]


@pytest.mark.parametrize(
    ("metadata", "licence", "permissive"),
    [
        ("License-Expression: MIT OR GPL-2.0-only\n", "MIT OR GPL-2.0-only", True),
        ("License-Expression: (MIT AND BSD-3-Clause) OR Apache-2.0\n", "(MIT AND BSD-3-Clause) OR Apache-2.0", True),
        ("License-Expression: MIT AND GPL-2.0-only\n", "MIT AND GPL-2.0-only", False),
        ("License-Expression: Apache-2.0 WITH LLVM-exception\n", "Apache-2.0 WITH LLVM-exception", True),
        ("Classifier: License :: OSI Approved :: BSD License\n", "BSD", True),
        (
            "Classifier: License :: OSI Approved :: MIT License\n"
            "Classifier: License :: OSI Approved :: GNU General Public License v2 (GPLv2)\n",
            "GNU General Public License v2 (GPLv2) AND MIT",
            False,
        ),
        ("Classifier: License :: OSI Approved\nLicense: Apache License 2.0\n", "Apache-2.0", True),
        (
            "License: Apache-2.0 with Commons Clause\nClassifier: License :: OSI Approved :: Apache Software License\n",
            "Apache-2.0 with Commons Clause",
            False,
        ),
        ("License: Proprietary\nClassifier: License :: OSI Approved :: MIT License\n", "Proprietary", False),
        ("License: MIT OR GPL-2.0\nClassifier: License :: OSI Approved :: MIT License\n", "MIT OR GPL-2.0", True),
        (f"License: {MIT_TEXT}\nClassifier: License :: OSI Approved :: MIT License\n", "MIT", True),
        ("License: The MIT License (MIT)\n", "MIT", True),
        ("License: Apache License, Version 2.0\n", "Apache-2.0", True),
        ("License: new BSD\n", "BSD", True),
        ('License: BSD 3-Clause "New" or "Revised" License\n', "BSD", True),
        ("License: Apache-2.0 OR BSD-3-Clause\n", "Apache-2.0 OR BSD-3-Clause", True),
        ("License: Apache-2.0 with Commons Clause\n", "Apache-2.0 with Commons Clause", False),
        ("License-Expression: Apache-2.0 WITH Commons-Clause\n", "Apache-2.0 WITH Commons-Clause", False),
        ("License: Business Source License (BSD-like)\n", "Business Source License (BSD-like)", False),
        ("License: SSPL; parts under Apache\n", "SSPL; parts under Apache", False),
        ("License: EUPL 1.2, see MIT text\n", "EUPL 1.2, see MIT text", False),
        ("License: MIT (\u975e\u5546\u7528)\n", "MIT (\u975e\u5546\u7528)", False),
        (f"License: {'MIT AND ' * 7}MIT GPL\n", f"{'MIT AND ' * 7}MIT…", False),
        (f"License: {MIT_TEXT}\n", "MIT", True),
        (f"License: {MIT_TEXT} No large company may use it.\n", f"{MIT_TEXT[:59]}…", False),
        (
            f"License: {MIT_TEXT.replace('MIT', 'Commons Clause')}\n",
            "Commons Clause License Copyright (c) 2024 Toy Permission is…",
            False,
        ),
        ("License: LGPL with exceptions\n", "LGPL with exceptions", False),
        ("License: UNKNOWN\n", "", False),
        ("License: MIT OR\n", "MIT OR", False),
        ("License-Expression: MIT OR\n", "MIT OR", False),
        ("License-Expression: (MIT\n", "(MIT", False),
        ("", "", False),
    ],
)
def test_the_licence_is_what_the_metadata_state(metadata: str, licence: str, permissive: bool) -> None:
    found = stated_licence(f"Metadata-Version: 2.4\nName: toy\n{metadata}\nA MIT text.\n")
    assert (found, is_permissive(found)) == (licence, permissive)


def test_a_paragraph_is_new_by_its_sequences_of_words() -> None:
    known = KnownText()
    assert known.learn("Version 1.2 adds the sum of three numbers") == 1
    assert known.learn("version 1.3 adds, the sum: of four numbers!") == 0.4
    assert known.learn("Version 2.0 adds the sum of three numbers") == 0
    assert known.learn("Only four words here") == 0
