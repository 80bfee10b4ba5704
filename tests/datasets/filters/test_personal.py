"""The filter of personal data: what it finds, what only looks like it, and what the record counts."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from ticlm.datasets.filters.personal import Masked, PersonalData, iban_checks, luhn
from ticlm.datasets.filters.union import passed
from ticlm.datasets.io.documents import Document


def document(text: str) -> Document:
    return Document(text, "a", datetime(2015, 6, 30, tzinfo=UTC))


def masked(text: str) -> str:
    outcome = passed(document(text), [PersonalData()])
    assert outcome.document is not None
    return outcome.document.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("write to jane.doe+news@mail.example.org.", "write to [email]."),
        ("<mailto:J_DOE@example.co.uk>", "<mailto:[email]>"),
        ("from 8.8.8.8, port 53", "from [ip], port 53"),
        ("http://93.184.216.34/index", "http://[ip]/index"),
        ("via 2a00:1450:4001:82b::200e today", "via [ip] today"),
        ("call +44 20 7946 0958 now", "call [phone] now"),
        ("call +1 (415) 555-2671", "call [phone]"),
        ("or (415) 555-2671.", "or [phone]."),
        ("or 415-555-2671, or 415.555.2671", "or [phone], or [phone]"),
        ("Tel. 020 7946 0958", "Tel. [phone]"),
        ("Tel. 0151 2345 6789", "Tel. [phone]"),
        ("mobile +4915112345678, +33 1 23 45 67 89 or +49 (0) 30 1234567", "mobile [phone], [phone] or [phone]"),
        ("415-555-2671 415-555-2672", "[phone] [phone]"),
        ("paid with 4111 1111 1111 1111 today", "paid with [card] today"),
        ("amex 378282246310005", "amex [card]"),
        ("amex 3782 822463 10005", "amex [card]"),
        ("to DE89 3704 0044 0532 0130 00 IBAN", "to [iban] IBAN"),
        ("to GB82WEST12345698765432.", "to [iban]."),
    ],
)
def test_personal_data_is_masked(text: str, said: str) -> None:
    assert masked(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "version 10.0.19041.1, Chrome/120.0.0.0, v1.2.3.4, foo==1.0.0.1, RFC 5321 4.5.3.1 and release 8.8.8.8",
        "Section 12.3.4.5 of the code, 1.2.3, 192.168.0.1, 127.0.0.1, 10.0.0.7, 203.0.113.9, 300.1.1.1",
        "std::vector a::b dead::beef at 12:30:45 on 2023-01-02T10:11:12",
        "on 01-02-2023, 2023-01-02, 02/01/2023, 1990-2005, 1914–1918, and 12.05.2021",
        "ISBN 978-0-306-40615-7, 9780306406157, 0-306-40615-2, ISSN 0317-8471, 978 3 16 148410 0",
        "4111 1111 1111 1112, and 1234 5678 9012 3456 have no check digit",
        "4111111111111111111111 is too long, 41111 11111 11111 1 is no card's grouping",
        "DE88 3704 0044 0532 0130 00, XX82WEST12345698765432",
        "logo@2x.png, @media print, user@localhost, a @ b.com, foo@bar",
        "1,234,567.89 of 100 000 000, 6.02214076, 3.141592653589793, +1.12345679, +5, +20 %, 555-2671",
        "population 1 234 567 in 2010, RFC 2119, part 12345678901234, id 0123456789",
        "10.1000/182, doi:10.1093/nar/gkv1071, arXiv 2410.11820, 40.7128, -74.0060",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    given = document(text)
    assert PersonalData()(given) is given


def test_what_was_masked_is_counted_by_kind() -> None:
    given = document("a@example.org b@example.org 8.8.8.8")
    found = PersonalData()(given)
    assert isinstance(found, Masked) and dict(found.kinds) == {"email": 2, "ip": 1}
    outcome = passed(given, [PersonalData(kinds=("ip",)), PersonalData(kinds=("email",))])
    assert outcome.masked == {(0, "ip"): 1, (1, "email"): 2} and outcome.edited == (0, 1)
    assert outcome.document is not None and outcome.document.text == "[email] [email] [ip]"


def test_drop_leaves_a_document_out_by_the_first_kind_that_it_has() -> None:
    given = document("a@example.org 4111111111111111")
    assert PersonalData(action="drop")(given) == "personal data: card"
    assert PersonalData(action="drop", kinds=("email", "card"))(given) == "personal data: email"


def test_checks_are_those_of_the_standards() -> None:
    assert luhn("79927398713") and not luhn("79927398710")
    assert iban_checks("GB82WEST12345698765432") and not iban_checks("GB28WEST12345698765432")


@pytest.mark.parametrize(
    "text", ["1" * 100_000, "1 " * 50_000, "a." * 50_000, ":" * 100_000, "+1 2" * 25_000, "a@" * 50_000]
)
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    PersonalData()(document(text))
    assert time.process_time() - begin < 1
