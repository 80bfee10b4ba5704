"""WARC: every record of an archive is a page, broken, or was never meant to be one; whatever is done to the file."""

from __future__ import annotations

import gzip
import io
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import web
import zstandard
from fastwarc.stream_io import BrotliWriter
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import SHARED
from resiliparse.parse.html import HTMLTree

from ticlm.datasets.io.documents import Bad, Skipped
from ticlm.datasets.text.charset import decoded
from ticlm.datasets.web.fast_warc import sound
from ticlm.datasets.web.warc import PageRules, PageText, pages
from ticlm.datasets.web.warc_records import DamagedRecord, WarcRecord, carefully, records

Outcome = WarcRecord | DamagedRecord
REAL = SHARED / "warc"
PACKINGS = {"plain": web.plain, "gz": web.gz, "solid": web.solid, "zst": web.zst}
SENTENCE = "A page has a sentence that is long enough to stay. "


def read(data: bytes, **rules: object) -> list[PageText | Bad | Skipped]:
    return list(pages(io.BytesIO(data), PageRules.model_validate(rules)))


def said(data: bytes, **rules: object) -> list[str]:
    """For every record its text, or the reason that it has none."""
    return [one.text if isinstance(one, PageText) else one.reason for one in read(data, **rules)]


def urls(found: list[PageText | Bad | Skipped]) -> list[str]:
    return [one.url for one in found if isinstance(one, PageText)]


def describe(block: bytes, **fields: str) -> str:
    """What becomes of one response."""
    (one,) = said(web.record("response", block, "https://a", **fields))
    return one


# --- whole files


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_pages_come_out_in_order_with_url_date_and_text(pack: Callable[[list[bytes]], bytes]) -> None:
    records = [web.record("warcinfo", b"software: x"), *web.some_pages(3)]
    found = read(pack(records))
    assert found[0] == Skipped("record of type warcinfo", datetime(2024, 5, 18, 1, 58, 10, tzinfo=UTC))
    assert urls(found) == [f"https://site/{n}" for n in range(3)]
    assert isinstance(found[3], PageText)
    assert found[3].text == "This is page 2, and it has a sentence of its own 4."
    assert found[3].when == datetime(2024, 5, 18, 1, 58, 10, tzinfo=UTC)


def test_where_a_record_lies_can_be_found_again() -> None:
    records = web.some_pages(3)
    third = [one.where for one in read(web.gz(records)) if isinstance(one, PageText)][2]
    assert third == f"byte {len(web.gz(records[:2]))}"
    third = [one.where for one in read(web.plain(records)) if isinstance(one, PageText)][2]
    assert third == f"byte 0+{len(web.plain(records[:2]))}"


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
@pytest.mark.parametrize("path", sorted(REAL.glob("*/*[!l].gz")) + sorted(REAL.glob("*/*.warc")), ids=lambda p: p.name)
def test_real_archives_have_as_many_records_as_warcio_counts(path: Path) -> None:
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    if path.name.endswith(("jsonl.gz", ".arc.gz")):
        pytest.skip("no WARC file")
    expected: Counter[str] = Counter()
    with open(path, "rb") as raw:
        try:
            expected.update(record.rec_type for record in ArchiveIterator(raw))
        except ArchiveLoadFailed:  # one record in two members
            assert path.name == "example-wrong-chunks.warc.gz"
            expected["request"] += 1
    with open(path, "rb") as raw:
        found = list(pages(raw, PageRules()))
    assert len(found) == expected.total()
    others = sum(expected[kind] for kind in ("warcinfo", "request", "metadata", "revisit"))
    assert sum(isinstance(one, Skipped) and one.reason.startswith("record of type") for one in found) == others
    bad = [one.reason for one in found if isinstance(one, Bad)]
    assert bad == (["broken record"] if path.name == "example-trunc.warc" else [])


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
def test_records_in_one_gzip_member_are_read_one_by_one() -> None:
    found = said((REAL / "warcio/example-bad.warc.gz.bad").read_bytes())
    kinds = ["record of type warcinfo", "record of type request", "record of type revisit", "record of type request"]
    assert [one for one in found if one.startswith("record")] == kinds
    assert "HTTP status 302" in found and len(found) == 6


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
def test_arc_files_are_named_as_such_and_left() -> None:
    assert said((REAL / "warcio/example.arc.gz").read_bytes()) == ["ARC file, a format that is not read"]


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
def test_a_real_page_says_what_its_official_text_says() -> None:
    folder = REAL / "commoncrawl-whirlwind"
    (ours,) = [one.text for one in read((folder / "cc-whirlwind.warc.gz").read_bytes()) if isinstance(one, PageText)]
    (theirs,) = [
        one.text for one in read((folder / "cc-whirlwind.warc.wet.gz").read_bytes()) if isinstance(one, PageText)
    ]
    words, official = (Counter(re.findall(r"\w+", text)) for text in (ours, theirs))
    assert (words & official).total() / words.total() > 0.95  # nothing is invented …
    assert (words & official).total() / official.total() > 0.2  # … and much is left out: menus, languages


# --- what a record is


def test_a_wet_record_gives_its_text_as_it_is() -> None:
    text = "Menu\n\nÜber uns <p>not html</p>\n"
    block = text.encode()
    assert said(web.record("conversion", block, "https://a", Content_Type="text/plain")) == [text]


def test_a_resource_of_html_is_a_page_and_another_is_none() -> None:
    html = b"<p>" + SENTENCE.encode()
    assert said(web.record("resource", html, "file:a", Content_Type="text/html")) == [SENTENCE.strip()]
    assert said(web.record("resource", html, "file:a", Content_Type="image/png")) == ["not HTML or text"]


@pytest.mark.parametrize("kind", ["warcinfo", "request", "metadata", "revisit", "continuation"])
def test_other_records_are_skipped_by_type(kind: str) -> None:
    assert said(web.record(kind, b"x", "https://a")) == [f"record of type {kind}"]
    assert said(web.record("invented-" + kind, b"x", "https://a")) == ["record of unknown type"]


@pytest.mark.parametrize("status", ["301 Moved", "404 Not Found", "500", "199 Odd"])
def test_answers_that_are_no_success_are_skipped_unless_asked_for(status: str) -> None:
    block = web.answer(SENTENCE.encode(), status, Content_Type="text/plain")
    assert describe(block) == f"HTTP status {status[:3]}"
    assert said(web.record("response", block, "https://a"), any_status=True) == [SENTENCE]


@pytest.mark.parametrize("mime", ["image/png", "application/pdf", "text/css", "application/json"])
def test_other_mime_types_are_skipped(mime: str) -> None:
    assert describe(web.answer(b"<p>" + SENTENCE.encode(), Content_Type=mime)) == "not HTML or text"


def test_a_page_whose_type_was_not_said_is_known_by_what_it_is() -> None:
    html = b"<!DOCTYPE html><p>" + SENTENCE.encode()
    assert describe(web.answer(html, Content_Type="")) == SENTENCE.strip()
    assert describe(web.answer(b"\x89PNG", Content_Type="")) == "not HTML or text"
    identified = web.answer(SENTENCE.encode(), Content_Type="application/octet-stream")
    assert describe(identified, WARC_Identified_Payload_Type="text/plain") == SENTENCE


def test_plain_text_passes_as_it_is() -> None:
    assert describe(web.answer(b"<b>a</b>\n\n b", Content_Type="Text/Plain; charset=ascii")) == "<b>a</b>\n\n b"


def test_pages_without_text_or_url_are_counted() -> None:
    assert describe(web.answer(b"<html><body><img src=a></body></html>")) == "without text"
    assert said(web.record("response", web.answer(b"<p>" + SENTENCE.encode()))) == ["without URL"]


def test_an_answer_of_a_name_server_is_no_page() -> None:
    assert describe(b"20240518\na. 300 IN A 1.2.3.4\n", Content_Type="text/dns") == "not HTML or text"


def test_angle_brackets_around_a_url_are_no_part_of_it() -> None:
    (one,) = read(web.page("<https://a/b>", SENTENCE))
    assert isinstance(one, PageText) and one.url == "https://a/b"


@pytest.mark.parametrize("date", ["", "0000-00-00T00:00:00Z", "9999-01-01T00:00:00Z", "yesterday", "0001-01-01"])
def test_a_date_that_cannot_be_is_none(date: str) -> None:
    (one,) = read(web.page("https://a", SENTENCE, date))
    assert isinstance(one, PageText) and one.when is None


@pytest.mark.parametrize("block", [b"", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 20\r\n\r\nx", b"HTTP/1.1 OK\r\n\r\n"])
def test_a_response_without_a_status_is_broken(block: bytes) -> None:
    assert describe(block) == "broken HTTP header"


# --- codings


def coded(body: bytes, coding: str) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(body)
        case "deflate":
            return zlib.compress(body)
        case "raw deflate":
            packer = zlib.compressobj(wbits=-15)
            return packer.compress(body) + packer.flush()
        case "br":
            packed = io.BytesIO()
            with BrotliWriter(packed) as writer:
                writer.write(body)
            return packed.getvalue()
        case "zstd":
            return bytes(zstandard.ZstdCompressor().compress(body))
    return body


def chunked(body: bytes, size: int = 50) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(f"{len(part):X};x=y\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"


CODINGS = ["gzip", "deflate", "raw deflate", "br", "zstd"]
BODY = b"<html><body><p>" + SENTENCE.encode() * 20 + b"</p></body></html>"
TEXT = (SENTENCE * 20).strip()


@pytest.mark.parametrize("coding", [*CODINGS, "identity", "x-unknown"])
def test_codings_are_taken_off(coding: str) -> None:
    name = coding.split()[-1]
    assert describe(web.answer(coded(BODY, coding), Content_Encoding=name)) == TEXT
    assert (
        describe(web.answer(chunked(coded(BODY, coding)), Content_Encoding=name, Transfer_Encoding="chunked")) == TEXT
    )


def test_codings_one_over_another_are_taken_off_in_turn() -> None:
    body = coded(coded(BODY, "gzip"), "br")
    assert describe(web.answer(body, Content_Encoding="gzip, br")) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bodies_that_were_decoded_before_they_were_stored_are_read(coding: str) -> None:
    """As in all of Common Crawl's archives until August 2018."""
    assert describe(web.answer(BODY, Content_Encoding=coding, Transfer_Encoding="chunked")) == TEXT


def test_a_text_that_looks_like_chunks_is_none() -> None:
    text = b"ad\nis a number in hexadecimal digits"
    assert describe(web.answer(text, Transfer_Encoding="chunked", Content_Type="text/plain")) == text.decode()


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_not_unpacked(coding: str) -> None:
    bomb = coded(bytes(5_000_000), coding)
    block = web.answer(bomb, Content_Encoding=coding.split()[-1])
    assert len(block) < 100_000
    assert said(web.record("response", block, "https://a"), max_bytes=100_000) == ["larger than 100000 bytes"]


@pytest.mark.parametrize("coding", ["gzip", "raw deflate", "br", "zstd"])
def test_a_damaged_coding_is_told(coding: str) -> None:
    block = web.answer(coded(BODY, coding)[:-9], Content_Encoding=coding.split()[-1])
    assert describe(block) == "broken content coding"


@pytest.mark.parametrize(
    "wrong", [b"50\r\n" + BODY[:80] + b"zz\r\n", chunked(BODY)[:-5] + b"?\r\n", chunked(BODY)[:-80]]
)
def test_wrong_chunks_are_told(wrong: bytes) -> None:
    assert describe(web.answer(wrong, Transfer_Encoding="chunked")) == "broken chunks"


# --- charsets

GERMAN, RUSSIAN, JAPANESE = (
    "Größe und Öl, ähnlich süß",
    "Привет, это страница о погоде",
    "これは日本語のページです。天気",
)


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        (GERMAN, "latin-1", "ISO-8859-1"),
        ("“Quotes” – and dashes…", "cp1252", "latin1"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (JAPANESE, "euc-jp", "EUC-JP"),
        ("简体中文网页", "gb18030", "gb2312"),
        ("한국어 페이지 똠", "cp949", "euc-kr"),
        (GERMAN, "utf-8", "UTF-8"),
    ],
)
def test_a_page_in_any_encoding_is_read(text: str, encoding: str, label: str) -> None:
    html = f"<html><head><meta charset='{label}'></head><body><p>{text}</p></body></html>".encode(encoding)
    assert describe(web.answer(html, Content_Type="text/html")) == text
    assert describe(web.answer(html, Content_Type="text/html; charset=no-such-charset")) == text
    plain = f"<html><body><p>{text}</p></body></html>".encode(encoding)
    assert describe(web.answer(plain, Content_Type=f'text/html; charset="{label}"')) == text


def test_an_encoding_that_nobody_declared_is_recognised() -> None:
    html = f"<html><body><p>{RUSSIAN * 5}</p></body></html>".encode("cp1251")
    assert describe(web.answer(html, Content_Type="text/html")) == RUSSIAN * 5


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_believed_before_all_else(encoding: str) -> None:
    html = f"<p>{JAPANESE}</p>".encode(encoding)
    assert describe(web.answer(html, Content_Type="text/html; charset=latin1")) == JAPANESE


def test_utf_8_that_was_cut_within_a_character_stays_utf_8() -> None:
    assert decoded((GERMAN * 9 + "ü").encode()[:-1], "utf-8", html=False) == GERMAN * 9 + "�"


def test_what_says_utf_8_and_is_not_is_read_as_what_it_is() -> None:
    assert decoded(GERMAN.encode("latin-1"), "utf-8", html=False) == GERMAN


@given(
    st.binary(max_size=300),
    st.sampled_from([None, "utf-8", "utf-7", "gbk", "utf-16", "iso-2022-jp", "?"]),
    st.booleans(),
)
def test_any_bytes_become_text_without_nulls_and_surrogates(data: bytes, declared: str | None, html: bool) -> None:
    assert "\0" not in decoded(data, declared, html)
    decoded(data, declared, html).encode()


def test_null_characters_and_halves_of_pairs_do_not_reach_a_text() -> None:
    text = describe(web.answer(b"<p>a\0b &#xD800; &#0; " + SENTENCE.encode()))
    assert "\0" not in text and text.startswith("ab")
    text.encode()


# --- limits


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_page_that_is_too_large_is_passed_over_and_the_next_is_read(pack: Callable[[list[bytes]], bytes]) -> None:
    first, last = web.some_pages(2)
    data = pack([first, web.page("https://big", "x" * 3_000_000), last])
    found = read(data, max_bytes=100_000)
    assert urls(found) == ["https://site/0", "https://site/1"]
    assert isinstance(found[1], Skipped) and found[1].reason == "larger than 100000 bytes"


@pytest.mark.parametrize("pack", ["plain", "gz", "zst"])
def test_a_page_that_is_too_large_is_never_held(pack: str) -> None:
    import tracemalloc

    big = web.page("https://big", "x" * 60_000_000)
    data = PACKINGS[pack]([big])
    del big
    stream = io.BytesIO(data)
    tracemalloc.start()
    try:
        assert len(list(pages(stream, PageRules(max_bytes=1_000_000)))) == 1
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_page_nested_beyond_reason_is_left_out() -> None:
    deep = b"<div>" * 100_000 + SENTENCE.encode() + b"</div>" * 100_000
    assert describe(web.answer(deep)) == "nested deeper than 512 elements"
    flat = (b"<li>" + b"<p>x<br><a>" * 3) * 1_000 + (b"<div>" * 400 + b"</div>" * 400) * 3 + b"<p>" + SENTENCE.encode()
    assert SENTENCE.strip() in describe(web.answer(flat))


@pytest.mark.parametrize("unit", [b"<div>x </q>", b"<div>x <!--</i>-->", b"<b><div>x</b>"])
def test_end_tags_that_end_nothing_hide_no_depth(unit: bytes) -> None:
    assert describe(web.answer(b"<html><body>" + unit * 20_000)) == "nested deeper than 512 elements"


def test_what_looks_like_tags_in_a_script_is_no_depth() -> None:
    script = b"<script>" + b"for(i=0;i<n;i++){a<b}" * 2_000 + b"</script>"
    assert SENTENCE.strip() in describe(web.answer(script + b"<p>" + SENTENCE.encode() * 3))


@pytest.mark.parametrize("spaces, believed", [(10, True), (10_000, False)])
def test_of_a_header_only_its_beginning_is_looked_at(spaces: int, believed: bool) -> None:
    """The search for a charset costs the square of the spaces before it."""
    body = ("<p>Öl und Größe sind ähnlich. " * 9).encode("cp1252")
    header = "text/html; charset=" + " " * spaces + "koi8-r"
    assert ("Größe" not in describe(web.answer(body, Content_Type=header))) == believed


def test_an_extractor_that_fails_costs_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import resiliparse.extract.html2text as extractor

    class Panic(BaseException):
        """What native code raises is no Exception."""

    kept = extractor.extract_plain_text

    def fragile(tree: HTMLTree, main_content: bool) -> str:
        if "page 1," in str(tree.body):
            raise Panic
        return kept(tree, main_content=main_content)

    monkeypatch.setattr(extractor, "extract_plain_text", fragile)
    found = read(web.gz(web.some_pages(3)))
    assert urls(found) == ["https://site/0", "https://site/2"]
    assert isinstance(found[1], Bad) and found[1].reason == "cannot be extracted"


# --- damage


def test_an_empty_file_is_told() -> None:
    assert said(b"") == ["empty file"]


@pytest.mark.parametrize("data", [b"<html>no archive</html>" * 50, bytes(range(256)) * 99, b"WARC", b'{"a": 1}'])
def test_a_file_of_something_else_is_told_once(data: bytes) -> None:
    assert said(data) == ["garbage between records"]


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_truncated_file_keeps_what_came_before(pack: Callable[[list[bytes]], bytes]) -> None:
    records = web.some_pages(5)
    data = pack(records)
    found = read(data[:-60])
    if pack is PACKINGS["solid"]:  # how much of it can be unpacked is zlib's affair
        assert urls(found) == [f"https://site/{n}" for n in range(len(found) - 1)]
    else:
        assert urls(found) == [f"https://site/{n}" for n in range(4)]
    assert isinstance(found[-1], Bad) and found[-1].reason == "truncated file"
    assert [isinstance(one, Bad) for one in found].count(True) == 1


@pytest.mark.parametrize("pack", ["plain", "gz", "solid", "zst"])
@pytest.mark.parametrize("length", ["1", "60", "700", "99999", "99999999999", "-5", "", "1e3"])
def test_a_wrong_length_costs_one_record(pack: str, length: str) -> None:
    records = web.some_pages(5)
    records[2] = re.sub(rb"Content-Length: \d+", b"Content-Length: " + length.encode(), records[2], count=1)
    found = read(PACKINGS[pack](records))
    assert [isinstance(one, Bad) for one in found].count(True) == 1
    kept = ["https://site/0", "https://site/1", "https://site/3", "https://site/4"]
    assert urls(found) == (kept[:2] if pack == "solid" and len(length) > 8 else kept)


def test_lengths_that_lie_do_not_make_reading_slow() -> None:
    """Each would lead to the end of the file and back."""
    records = [
        re.sub(rb"Content-Length: \d+", b"Content-Length: 999999999", one, count=1) for one in web.some_pages(300)
    ]

    class Counted(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            block = super().read(size)
            self.taken += len(block)
            return block

    stream = Counted(web.plain(records))
    found = list(pages(stream, PageRules()))
    assert [type(one) for one in found] == [Bad] * 300
    assert stream.taken < 3 * len(stream.getvalue())


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_a_damaged_member_costs_one_record(pack: str) -> None:
    records = web.some_pages(5)
    parts = [PACKINGS[pack]([one]) for one in records]
    for at in range(4, len(parts[2]), 7):
        broken = bytearray(parts[2])
        broken[at] ^= 0x55
        found = read(b"".join([*parts[:2], bytes(broken), *parts[3:]]))
        if len(urls(found)) == 5:  # a byte that says nothing, such as a time in a header
            continue
        assert urls(found) == ["https://site/0", "https://site/1", "https://site/3", "https://site/4"]
        assert [isinstance(one, Bad) for one in found].count(True) == 1


@pytest.mark.parametrize("pack", ["plain", "gz", "zst"])
@pytest.mark.parametrize("garbage", [b"garbage", b"\x1f\x8b\x08 not gzip", b"<html>\n\n\n" * 300, b"\x28\xb5\x2f\xfd"])
def test_garbage_between_records_is_told_once_and_passed_over(pack: str, garbage: bytes) -> None:
    parts = [PACKINGS[pack]([one]) for one in web.some_pages(4)]
    found = read(b"".join([*parts[:2], garbage, *parts[2:]]))
    assert urls(found) == [f"https://site/{n}" for n in range(4)]
    assert [one.lost for one in found if isinstance(one, Bad)] == [len(garbage)]


@pytest.mark.parametrize("padding", [bytes(700), b"\r\n\r\n", gzip.compress(b"", mtime=0)])
def test_padding_between_members_is_none(padding: bytes) -> None:
    parts = [web.gz([one]) for one in web.some_pages(3)]
    assert urls(found := read(padding.join(parts) + padding)) == [f"https://site/{n}" for n in range(3)]
    assert len(found) == 3


def test_a_record_in_several_gzip_members_is_one() -> None:
    records = web.some_pages(3)
    parts = [gzip.compress(one[at : at + 100]) for one in records for at in range(0, len(one), 100)]
    assert urls(found := read(b"".join(parts))) == [f"https://site/{n}" for n in range(3)]
    assert len(found) == 3


def test_a_dictionary_of_zstd_is_used() -> None:
    records = web.some_pages(40)
    words = zstandard.train_dictionary(4_000, [*records * 5])
    packer = zstandard.ZstdCompressor(dict_data=words)
    for raw in (words.as_bytes(), zstandard.ZstdCompressor().compress(words.as_bytes())):
        head = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
        assert len(urls(read(head + b"".join(map(packer.compress, records))))) == 40


@pytest.mark.parametrize("what", ["flip", "cut"])
def test_damage_within_one_large_member_keeps_the_pages_before_it(what: str) -> None:
    data = bytearray(web.solid(web.some_pages(3_000)))
    at = len(data) * 9 // 10
    data[at : at + 40] = bytes(40) if what == "flip" else b""
    found = read(bytes(data[:at]) if what == "cut" else bytes(data))
    assert urls(found)[:2_600] == [f"https://site/{n}" for n in range(2_600)]
    assert isinstance(found[-1], Bad)


@settings(max_examples=300)
@given(st.data(), st.sampled_from(sorted(PACKINGS)))
def test_any_damage_keeps_the_pages_before_it_and_raises_nothing(data: st.DataObject, pack: str) -> None:
    records = [one for page in web.some_pages(6) for one in (web.record("request", b"GET /", "https://q"), page)]
    whole = PACKINGS[pack](records)
    at = data.draw(st.integers(0, len(whole) - 1), "at")
    match data.draw(st.sampled_from(["cut", "flip", "drop", "insert"]), "what"):
        case "cut":
            hurt = whole[:at]
        case "flip":
            hurt = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255), "with")]) + whole[at + 1 :]
        case "drop":
            hurt = whole[:at] + whole[at + data.draw(st.integers(1, 400), "count") :]
        case _:
            hurt = whole[:at] + data.draw(st.binary(min_size=1, max_size=99), "bytes") + whole[at:]
    found = read(hurt)
    if pack == "solid":
        return
    ends = [len(PACKINGS[pack](records[: n + 1])) for n in range(len(records))]
    before = sum(end <= at for end in ends)
    assert [type(one) for one in found[:before]] == [Skipped, PageText, *[Skipped, PageText] * 5][:before]
    assert len(found) <= len(records) + 4  # no record is counted twice; drops of several records leave fewer


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
@settings(max_examples=40)
@given(st.integers(0, 213_000), st.integers(1, 255))
def test_a_flipped_byte_of_a_real_archive_costs_one_record_at_most(at: int, flip: int) -> None:
    data = bytearray((REAL / "dolma/sample-0000.warc.gz").read_bytes())
    data[at] ^= flip
    found = list(records(io.BytesIO(bytes(data)), 1 << 24))
    assert sum(isinstance(one, DamagedRecord) for one in found) <= 1
    assert len(found) == 48


# --- fastwarc and careful reading


def both(data: bytes, most_bytes: int = 1 << 24) -> tuple[list[Outcome], list[Outcome]]:
    return list(records(io.BytesIO(data), most_bytes)), list(carefully(io.BytesIO(data), most_bytes))


def test_a_sound_archive_is_read_by_fastwarc_to_its_end() -> None:
    data = web.gz([web.record("warcinfo", b"software: x"), *web.some_pages(400)])
    found = list(sound(io.BytesIO(data), 1 << 24))
    assert len(data) > 1 << 16 and len(found) == 401 and found[-1].end == len(data)
    usual, careful = both(data)
    assert usual == careful and len(usual) == 401


@pytest.mark.parametrize("most_bytes", [1 << 24, 1_000])
def test_records_that_do_not_pack_are_proven(most_bytes: int) -> None:
    noise = web.record("response", random.Random(0).randbytes(700_000), "https://noise")
    parts = [web.page("https://a", "short"), noise, noise, web.page("https://b", "short")]
    assert len(list(sound(io.BytesIO(web.gz(parts)), most_bytes))) == 4
    usual, careful = both(web.gz(parts), most_bytes)
    assert usual == careful and len(usual) == 4


def test_records_that_are_too_large_are_proven_without_their_blocks() -> None:
    parts = [web.page("https://a", "short"), web.page("https://b", "long" * 100_000), web.page("https://c", "short")]
    found = list(sound(io.BytesIO(web.gz(parts)), 1_000))
    assert [one.block is None for one in found] == [False, True, False]
    usual, careful = both(web.gz(parts), 1_000)
    assert usual == careful and len(usual) == 3


@pytest.mark.skipif(not REAL.exists(), reason="the real archives are not here")
@pytest.mark.parametrize("path", sorted(REAL.glob("commoncrawl*/*.gz")) + sorted(REAL.glob("dolma/*.warc.gz")))
def test_real_archives_are_sound(path: Path) -> None:
    data = path.read_bytes()
    usual, careful = both(data)
    assert usual == careful and len(list(sound(io.BytesIO(data), 1 << 24))) == len(usual)


@pytest.mark.parametrize("pack", ["plain", "solid", "zst"])
def test_an_archive_that_proves_nothing_is_left_to_careful_reading(pack: str) -> None:
    data = PACKINGS[pack](web.some_pages(3))
    assert list(sound(io.BytesIO(data), 1 << 24)) == []
    assert len(read(data)) == 3


@pytest.mark.parametrize(
    "hurt",
    [
        lambda part: part[:-3],
        lambda part: part[:-8] + bytes([part[-8] ^ 1]) + part[-7:],
        lambda part: part + bytes(9),
        lambda part: part + gzip.compress(b""),
        lambda part: gzip.compress(gzip.decompress(part).replace(b"Length: 1", b"Length: 2")),
        lambda part: gzip.compress(gzip.decompress(part).replace(b"Date: ", b"Date:")),
    ],
    ids=["without its end", "checksum", "zeros behind it", "empty member behind it", "length", "unusual"],
)
def test_fastwarc_is_believed_up_to_the_first_doubt(hurt: Callable[[bytes], bytes]) -> None:
    parts = [web.gz([one]) for one in web.some_pages(6)]
    data = b"".join([*parts[:3], hurt(parts[3]), *parts[4:]])
    ends = [one.end for one in sound(io.BytesIO(data), 1 << 24)]
    assert ends in (
        [len(b"".join(parts[:n])) for n in range(1, most)] for most in (3, 4)
    )  # with the one before, or not
    usual, careful = both(data)
    assert usual == careful


@pytest.mark.parametrize("wrong", [(b"Length: 1", b"Length: 2"), (b"Length: 1", b"Length: "), (b"Date: ", b"Date:")])
def test_the_last_record_is_believed_as_little(wrong: tuple[bytes, bytes]) -> None:
    first, last = web.some_pages(2)
    data = web.gz([first, last.replace(*wrong)])
    assert len(list(sound(io.BytesIO(data), 1 << 24))) == 1
    usual, careful = both(data)
    assert usual == careful and len(usual) == 2


def test_an_end_that_looks_like_a_record_s_own_is_not_believed() -> None:
    same, other = web.gz([web.record("request", b"GET /", "https://q")]), web.gz([web.page("https://a", "text")])
    data = same + gzip.compress(b"") + other + same
    assert list(sound(io.BytesIO(data), 1 << 24)) == []  # fastwarc takes the empty member for the end
    assert len(list(records(io.BytesIO(data), 1 << 24))) == 3


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_an_error_of_the_stream_is_no_damage(reads: int) -> None:
    class Failing(io.BytesIO):
        left = reads

        def read(self, size: int | None = -1) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "the disk fails")
            return super().read(size)

    data = web.gz([web.page(f"https://site/{n}", str(n) * 50) for n in range(1_500)])
    found = []
    with pytest.raises(OSError, match="the disk fails"):
        for one in records(Failing(data), 1 << 24):
            found.append(one)
    assert all(isinstance(one, WarcRecord) for one in found) and len(found) < 1_500


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from([*sorted(PACKINGS), "gz"]), st.sampled_from([1 << 24, 100]))
def test_archives_are_read_as_careful_reading_alone_would(data: st.DataObject, pack: str, most_bytes: int) -> None:
    parts = [one for page in web.some_pages(4) for one in (web.record("request", b"GET /", "https://q"), page)]
    for at in data.draw(st.lists(st.integers(0, len(parts) - 1), max_size=2), "wrong lengths of"):
        length = data.draw(st.sampled_from([b"1", b"60", b"700", b"99999", b"99999999999", b"-5", b"", b"1e3"]))
        parts[at] = re.sub(rb"Content-Length: \d+", b"Content-Length: " + length, parts[at], count=1)
    members = [PACKINGS[pack]([one]) for one in parts] if pack in ("gz", "zst") else [PACKINGS[pack](parts)]
    for _ in range(data.draw(st.integers(0, 2), "insertions")):
        foreign = st.sampled_from([gzip.compress(b""), gzip.compress(b"\r\n"), bytes(9), b"\r\n", *members])
        members.insert(data.draw(st.integers(0, len(members))), data.draw(foreign))
    whole = b"".join(members)
    for _ in range(data.draw(st.integers(0, 2), "wounds")):
        at = data.draw(st.integers(0, max(0, len(whole) - 1)), "at")
        match data.draw(st.sampled_from(["cut", "flip", "drop", "insert"]), "what"):
            case "cut":
                whole = whole[:at]
            case "flip":
                whole = whole[:at] + bytes(byte ^ 0x41 for byte in whole[at : at + 1]) + whole[at + 1 :]
            case "drop":
                whole = whole[:at] + whole[at + data.draw(st.integers(1, 400), "count") :]
            case _:
                whole = whole[:at] + data.draw(st.binary(min_size=1, max_size=99), "bytes") + whole[at:]
    usual, careful = both(whole, most_bytes)
    assert usual == careful


def test_reading_needs_no_extractor_to_be_imported() -> None:
    import subprocess

    code = "import sys, ticlm.datasets.web.crawl; sys.exit(any(m in sys.modules for m in ('resiliparse', 'fastwarc')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "url", ["metadata://gnu.org/software/wget/warc/wget.log", "<METADATA://a/b>", "urn:X-wget:log"]
)
def test_what_an_archive_says_of_itself_is_no_page(url: str) -> None:
    log = web.record("resource", SENTENCE.encode(), url, Content_Type="text/plain")
    assert said(log) == ["about the archive itself"]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2009-03-65T08:43:19-0800", "2009-03-06"),  # as ClueWeb09 writes it
        ("2009-02-045T23:43:19-0800", "2009-02-15"),
        ("2012-02-60T00:00:00Z", "2012-02-29"),
        ("2009-01-13T18:05:17-0800", "2009-01-14"),
        ("2009-04-65T08:43:19Z", None),
        ("2009-02-366T00:00:00Z", None),
        ("2009-12-999T00:00:00Z", None),
    ],
)
def test_a_day_of_the_year_beside_its_month_is_a_date(written: str, day: str | None) -> None:
    (page,) = pages(io.BytesIO(web.page("http://a/", SENTENCE, date=written)), PageRules())
    assert isinstance(page, PageText)
    assert (page.when and page.when.date().isoformat()) == day
