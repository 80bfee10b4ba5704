"""Cost of a month of Common Crawl in core-hours, from rates per core and stated assumptions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """Seconds of CPU on one core; the defaults are the rates of README.md, section Crawls."""

    read_s_per_html_mb: float = 0.0324
    """Reading records and extracting text."""
    filter_s_per_text_mb: float = 0.3155
    """All of TiC-CC's filters."""
    shingle_s_per_m: float = 0.0913
    """Making n-grams, per million."""
    judge_s_per_m: float = 0.136
    """Judging n-grams, per million, with a filter much larger than the caches."""
    pack_s_per_m: float = 1.433
    """Per million tokens."""


@dataclass(frozen=True)
class Month:
    """The assumptions about a month."""

    kept_tokens: float = 100e9
    """TiC-LM, section 3: 100 to 500 billion a month over all ten global shards."""
    read_per_kept: float = 10.0
    """Tokens extracted per token kept: assumed, as 29 trillion are kept (TiC-LM) and DCLM-Pool had 240 by 2022."""
    before_dedup: float = 2.0
    """Tokens that pass the filters per token kept: assumed."""
    page_tokens: float = 1200.0
    """DCLM-Pool: 240 trillion tokens of 200 billion pages."""
    page_html_mb: float = 0.15
    """Assumed, because announcements of crawls of 2024 give about 150 kB of content per page."""
    token_chars: float = 4.5
    """Assumed."""
    token_ngrams: float = 1.0
    """Assumed; the true number is a little lower, as words of several tokens count once."""


def project(rates: Rates) -> None:
    """Print the arithmetic for one global shard and for all ten."""
    for name, tokens in (("one global shard", 10e9), ("all ten", 100e9)):
        print(f"\n{name}: {tokens / 1e9:,.0f} billion tokens kept in a month")
        _project(rates, Month(kept_tokens=tokens))


def _project(rates: Rates, month: Month) -> None:
    extracted = month.kept_tokens * month.read_per_kept
    pages = extracted / month.page_tokens
    html_mb, text_mb = pages * month.page_html_mb, extracted * month.token_chars / 1e6
    ngrams_m = month.kept_tokens * month.before_dedup * month.token_ngrams / 1e6
    steps = (
        ("reading, extraction", html_mb, "MB of HTML", rates.read_s_per_html_mb),
        ("filters", text_mb, "MB of text", rates.filter_s_per_text_mb),
        ("n-grams", ngrams_m, "million", rates.shingle_s_per_m),
        ("judging them, one task", ngrams_m, "million", rates.judge_s_per_m),
        ("tokens, rows, shards", month.kept_tokens / 1e6, "million", rates.pack_s_per_m),
    )
    print(f"{month.read_per_kept:g} tokens read per token kept, {month.page_tokens:,.0f} a page: {pages:,.0f} pages")
    for name, amount, unit, seconds in steps:
        print(f"{name:24}{amount:>16,.0f} {unit:12} x {seconds:.4f} s = {amount * seconds / 3600:>10,.1f} core-hours")
    total = sum(amount * seconds for _, amount, _, seconds in steps)
    print(f"{'':24}{'':>16} {'':12}   {'':8} = {total / 3600:>10,.1f} core-hours")
