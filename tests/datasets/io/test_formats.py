"""Tables, mail, and texts whose date is in their path are documents; what is none is counted and says why."""

from __future__ import annotations

import gzip
import io
import json
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.datasets.io import formats, records, whole_files
from ticlm.datasets.io.documents import Bad, Document, Fields
from ticlm.datasets.io.file_documents import FileDocuments
from ticlm.datasets.io.records import BadRecord


def read(*paths: Path, **fields: str) -> list[Document | Bad]:
    reader = FileDocuments(paths=tuple(map(str, paths)), fields=Fields(**fields))
    inputs = reader.inputs(Calendar())
    reader.check(inputs)
    return [found for entry in inputs for piece in reader.pieces(entry) for found in reader.read(piece)]


def of(found: Document | Bad) -> tuple[str, ...]:
    """What a document holds, or why it is none."""
    if isinstance(found, Bad):
        return (found.reason,)
    return (found.text, found.id, found.timestamp.date().isoformat(), found.source)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mail(subject: str, body: str, **headers: str) -> bytes:
    message = EmailMessage()
    message["Subject"] = subject
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return b"From someone Mon Jan  4 00:00:00 2016\n" + bytes(message) + b"\n"


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("tsv", "\t")])
def test_rows_of_a_table_are_documents(ending: str, mark: str, tmp_path: Path) -> None:
    lines = [["day", "id", "said"], ["2016-01-04", "1", '"two\nlines"'], ["2016-02-05", "2", "one"], ["2016-02-05"]]
    path = written(tmp_path, f"a.{ending}", "\n".join(map(mark.join, lines)) + "\n")
    first, second, third = read(path, text="said", timestamp="day", id="id")
    assert of(first) == ("two\nlines", "1", "2016-01-04", "")
    assert of(second) == ("one", "2", "2016-02-05", "")
    assert isinstance(third, Bad) and third.where == f"{path}:5"


@pytest.mark.parametrize("head", ["day;id;said", 'day;id;"said"', "day;id, or url;said"])
def test_semicolons_between_cells_are_told_from_the_first_line(head: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", f"{head}\n2016-01-04;1;one, two, three, four\n")
    (found,) = read(path, text="said", timestamp="day", id=head.split(";")[1])
    assert of(found) == ("one, two, three, four", "1", "2016-01-04", "")


def test_packed_tables_and_mail_are_read_up_to_where_they_break(tmp_path: Path) -> None:
    date = "Mon, 04 Jan 2016 23:30:00 -0500"
    content = {
        "a.csv": b"timestamp,url,text\n2016-01-05,u,Hi\n",
        "a.tsv": b"timestamp\turl\ttext\n2016-01-05\tu\tHi\n",
        "a.mbox": mail("Hi", "", Date=date, Message_ID="<u>").replace(b"\n\n", b"\n\nHi"),
    }
    for name, plain in content.items():
        packed = written(tmp_path, f"{name}.gz", gzip.compress(plain))
        assert [one.id for one in read(packed) if isinstance(one, Document)] == ["u"]
        packed.write_bytes(packed.read_bytes()[:-12])
        assert of(read(packed)[-1]) == ("broken file",)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("blog/2016-01-04-title.md", ("2016-01-04", "2016-01-04-title.md", "blog")),
        ("blog/2016/01/04/x.txt", ("2016-01-04", "2016/01/04/x.txt", "blog")),
        ("blog/more/20160104.txt", ("2016-01-04", "more/20160104.txt", "more")),
        ("blog/2016/01/x.txt", ("2016-01", "2016/01/x.txt", "blog")),
        ("blog/siteA/posts/2016-01-04.txt", ("2016-01-04", "siteA/posts/2016-01-04.txt", "posts")),
        ("blog/about.md", (None, "about.md", "")),
        ("blog/1234567.md", (None, "1234567.md", "")),
    ],
)
def test_a_path_tells_the_date_and_a_name_that_stays(path: str, told: tuple[str | None, str, str]) -> None:
    found = formats.of_path(f"/from/2020-01-01/{path}", "/from/2020-01-01/blog")
    assert (found.get("timestamp"), found["url"], found["source"]) == told


@pytest.mark.parametrize(
    ("patterns", "folder"),
    [
        (["/data/2019-01/posts/*.md"], "/data/2019-01/posts"),
        (["/data/posts"], "/data/posts"),
        (["/data/posts/a.md"], "/data/posts"),
        (["/data/site?/posts/*.md"], "/data"),
        (["/data/siteA/posts/*.md", "/data/siteB/posts/*.md"], "/data"),
        (["s3://bucket/posts/*.md"], "s3://bucket/posts"),
    ],
)
def test_the_folder_that_all_files_are_in_is_that_before_the_first_mark(patterns: list[str], folder: str) -> None:
    assert formats.folder_of(patterns) == folder


def test_texts_of_one_name_in_two_folders_are_two_documents_and_the_folders_above_give_no_date(tmp_path: Path) -> None:
    sites = [tmp_path / "2019-01-02" / site / "posts" for site in ("siteA", "siteB")]
    for site in sites:
        written(site, "2016-01-04-a.md", "Some words.")
        written(site, "about.md", "No day.")
    found = [of(one) for one in read(*sites)]
    assert found[0][1:3] == ("siteA/posts/2016-01-04-a.md", "2016-01-04")
    assert found[2][1:3] == ("siteB/posts/2016-01-04-a.md", "2016-01-04")
    assert found[1] == found[3] == ("without date",)


def test_a_folder_of_texts_is_a_document_a_file(tmp_path: Path) -> None:
    written(tmp_path, "blog/2016-01-04-a.md", "\ufeffHello there.")
    written(tmp_path, "blog/2016-02-30-b.md", "No such day.")
    written(tmp_path, "blog/2016-03-01-c.txt", b"\xff\xfe\xfa")
    written(tmp_path, "blog/about.md", "No day.")
    found = [of(one) for one in read(tmp_path)]
    assert found[0] == ("Hello there.", "blog/2016-01-04-a.md", "2016-01-04", "blog")
    assert [reason for (reason,) in found[1:]] == ["unreadable date", "unreadable text", "without date"]


def test_texts_beside_records_of_a_folder_are_left_alone(tmp_path: Path) -> None:
    written(tmp_path, "a.jsonl", '{"text": "some", "timestamp": "2016-01-04", "url": "u"}\n')
    written(tmp_path, "README.md", "What this is.")
    assert [of(one)[1] for one in read(tmp_path)] == ["u"]


def test_messages_of_mail_are_documents(tmp_path: Path) -> None:
    date = "Mon, 04 Jan 2016 23:30:00 -0500"
    content = (
        mail("Übung", "First line\n\nFrom here on, a body.\n", Date=date, Message_ID="<a@x.org>", List_Id="L <l.x.org>")
        .replace(b"\n\nFrom here", b"\n\n>From here")
        + mail("No date", "Some words")
        + mail("Wrong date", "Some words", Date=date).replace(date.encode(), b"some day")
        + mail("Empty", "", Date=date)
    )  # fmt: skip
    first, *others = map(of, read(written(tmp_path, "list.mbox", content)))
    assert first == ("Übung\n\nFirst line\n\nFrom here on, a body.", "a@x.org", "2016-01-05", "l.x.org")
    assert others == [("without date",), ("unreadable date",), ("without text",)]


def test_mail_of_html_alone_has_no_text_and_broken_mail_costs_itself(tmp_path: Path) -> None:
    date = "Mon, 04 Jan 2016 23:30:00 -0500"
    html = mail("Page", "<b>hello</b>", Date=date).replace(b"text/plain", b"text/html")
    broken = mail("Broken", "words", Date=date).replace(b"utf-8", b"no-such-charset")
    path = written(tmp_path, "list.mbox", html + broken + mail("Good", "words", Date=date))
    assert [of(one)[0] for one in read(path)] == ["without text", "Broken\n\nwords", "Good\n\nwords"]


def test_a_paragraph_may_begin_as_a_message_does(tmp_path: Path) -> None:
    body = "Hello.\n\nFrom what I saw at 10:30, it rains."
    one = b"From a@x.org Mon Jan  4 00:00:00 2016\nSubject: Rain\nDate: Mon, 04 Jan 2016 23:30:00 -0500\n\n"
    two = one.replace(b"a@x.org Mon Jan  4 00:00:00 2016", b"someone at x.org  Mon, 4 Jan 2016 00:00:00 +0000")
    path = written(tmp_path, "list.mbox", (one + body.encode() + b"\n\n" + two + body.encode() + b"\n\n") * 2)
    assert [of(found)[0] for found in read(path)] == [f"Rain\n\n{body}"] * 4


def test_a_file_that_is_no_mail_is_one_bad_record(tmp_path: Path) -> None:
    assert [of(one)[0] for one in read(written(tmp_path, "x.mbox", "just words\n" * 9))] == [
        "no mail: its first line does not begin with 'From '"
    ]
    assert read(written(tmp_path, "empty.mbox", b"")) == []


def test_texts_without_a_date_are_refused_with_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"about.md: none of its rows has a value in 'timestamp'"):
        read(written(tmp_path, "about.md", "No day."))


ROWS = [{"text": f"Text {n}.", "timestamp": f"2016-01-{n + 1:02d}", "url": str(n)} for n in range(3)]


def arrow(file: bool) -> bytes:
    sink, table = io.BytesIO(), pa.Table.from_pylist(ROWS)
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(sink, table.schema) as out:
        out.write_table(table, max_chunksize=2)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(ROWS, indent=2)),
        ("a.json", "\n".join(map(json.dumps, ROWS))),
        ("a.json.gz", gzip.compress(json.dumps(ROWS).encode(), mtime=0)),
        ("a.json.gz", gzip.compress("\n".join(map(json.dumps, ROWS)).encode(), mtime=0)),
        ("a.arrow", arrow(True)),
        ("a.arrow", arrow(False)),
    ],
)
def test_json_of_both_kinds_and_arrow_of_both_kinds_are_records(name: str, content: str, tmp_path: Path) -> None:
    found = read(written(tmp_path, name, content))
    assert [of(one)[1:3] for one in found] == [(str(n), f"2016-01-{n + 1:02d}") for n in range(3)]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", json.dumps(ROWS)[:-20]), ("a.json.gz", gzip.compress(json.dumps(ROWS).encode(), mtime=0)[:-20])],
)
def test_an_array_that_is_cut_off_ends_there_and_says_so(name: str, content: str, tmp_path: Path) -> None:
    assert of(read(written(tmp_path, name, content))[-1]) == ("broken file",)


@pytest.mark.parametrize("broken", ['{"text": "a" "b"}', "[" * 100_000 + "]" * 100_000])
@pytest.mark.parametrize("more", [0, 40])
def test_a_broken_object_of_an_array_is_damage_however_much_follows(
    broken: str, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LINE_BYTES", 1000)
    monkeypatch.setattr(whole_files, "BLOCK", 100)
    objects = [json.dumps(ROWS[0]), broken, *[json.dumps(ROWS[1])] * more]
    first, last = whole_files.rows(str(written(tmp_path, "a.json", f"[{','.join(objects)}]")))
    assert first == (1, ROWS[0]) and last == (2, BadRecord(records.BROKEN, 0))


@pytest.mark.parametrize("end", ["", "  \n", ", 5", ",5 "])
@pytest.mark.parametrize("block", [7, 50, 1 << 20])
def test_objects_and_numbers_at_the_end_of_a_block_are_whole(
    end: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "BLOCK", block)
    path = written(tmp_path, "a.json", f"\ufeff [{', '.join(map(json.dumps, ROWS))}{end}]\n")
    found = [one for _, one in whole_files.rows(str(path))]
    assert found == [*ROWS, *([BadRecord("not a JSON object")] if "5" in end else [])]


def test_a_large_array_is_read_object_by_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "BLOCK", 7)
    found = read(written(tmp_path, "a.json", json.dumps([ROWS[0], 5, ROWS[1], ROWS[2]])))
    assert [of(one)[0] for one in found] == ["Text 0.", "not a JSON object", "Text 1.", "Text 2."]


def test_a_json_file_beside_others_explains_them(tmp_path: Path) -> None:
    written(tmp_path, "data.arrow", arrow(True))
    written(tmp_path, "state.json", "{}")
    assert len(read(tmp_path)) == 3


def test_folders_of_keys_are_fields_that_may_make_a_date(tmp_path: Path) -> None:
    for month in ("5", "11"):
        path = written(tmp_path, f"year=2024/month={month}/part.parquet", b"")
        pq.write_table(pa.Table.from_pylist([{"text": "Some words.", "url": month, "site": None}]), path)
    written(tmp_path, "year=2024/month=12/part.jsonl", '{"text": "More.", "url": "z", "month": 1}\n')
    found = [of(one) for one in read(tmp_path, timestamp="year-month", source="month")]
    assert found == [
        ("Some words.", "11", "2024-11-01", "11"),
        ("More.", "z", "2024-01-01", "1"),  # what a record says itself counts
        ("Some words.", "5", "2024-05-01", "5"),
    ]
    with pytest.raises(InputError, match=r"has a value in 'year-day'.*its columns are text, url, site, year, month"):
        read(tmp_path / "year=2024/month=5", timestamp="year-day")


def test_values_in_the_names_of_folders_are_decoded(tmp_path: Path) -> None:
    line = '{"text": "More.", "url": "z"}\n'
    path = written(tmp_path, "time=2024-05-03 10%3A30%3A00/site=a%2Fb c/part.jsonl", line)
    assert [of(one) for one in read(path, timestamp="time", source="site")] == [("More.", "z", "2024-05-03", "a/b c")]
