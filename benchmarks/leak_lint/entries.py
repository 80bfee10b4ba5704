"""What the benchmark plants: sentences, names, versions, with the day on which they became possible.

Three sets, each written after the rules that it was tried on. The first was written without a look at the tables, and
tables and words were mended by what it showed on the posts of even months. So they were by the second (`second.py`). By
the third (`held_out.py`) one rule about prepositions was: the report is on that.
"""

from __future__ import annotations

from dataclasses import dataclass

Dated = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entries:
    """Sentences with places for a date ({d}, {iso}, {m}, {y}, …), a name {n}, a version {v}, a title {t} and
    holder {p}; and names, versions and banners with the first day on which they can be met."""

    day: tuple[str, ...]
    month: tuple[str, ...]
    year: tuple[str, ...]
    url: tuple[str, ...]
    dated_numbers: tuple[str, ...]
    numbers: Dated
    versions: Dated
    version: tuple[str, ...]
    names: Dated
    name: tuple[str, ...]
    office: tuple[str, ...]
    footers: tuple[str, ...]
    banners: Dated


TUNED = Entries(
    day=(
        "The agency released the final report on {d}.",
        "An update on {d} fixed the broken links.",
        "On {d}, the team moved the site to new servers.",
        "We got the first answers on {d} and added them above.",
        "{d}: the numbers in this table were corrected.",
        "The page was last changed {d}.",
        "Correction ({iso}): an earlier version misspelled the name.",
        "Last updated {iso}",
        "Posted {iso} by the web team.",
        "commit 4fe12ab, {iso}, merged the patch.",
    ),
    month=(
        "In {m}, the office closed after a long discussion.",
        "Traffic doubled between January and {m}, the logs showed.",
        "As of {m}, the service had four million users.",
        "Editor’s note, {m}: the program described here has ended.",
        "The standard was published in {m}.",
        "She left the company in {m}.",
        "We wrote about it again in {m}.",
        "Reviewed {m}",
        "The {m} survey found that most people had stopped using it.",
        "Those figures come from the {m} issue of the journal.",
    ),
    year=(
        "The project ended in {y} after years of work.",
        "Looking back at {y}, the change was worth it.",
        "It has been this way since {y}.",
        "In {y} the court threw the rule out.",
        "The library was rewritten in {y} and renamed.",
        "A study from {y} showed the opposite (Miller et al., {y}).",
        "The company had 900 employees in {y}.",
        "This tool was retired in {y}; the text is kept for reference.",
        "Sales peaked in {y} and then fell.",
        "The law passed in {y}.",
    ),
    url=(
        "See https://www.example.org/{y}/{mm}/some-old-post/ for more.",
        "![chart](https://cdn.example.com/wp-content/uploads/{y}/{mm}/chart-2.png)",
        "Source: <https://news.example.com/politics/{y}/{mm}/{dd}/a-long-title.html>",
        "[our earlier post](/blog/{y}/{mm}/{dd}/what-we-learned)",
        "https://lists.example.org/pipermail/dev/{y}-{mm}-{dd}/0042.html",
    ),
    dated_numbers=(
        "The method is described in arXiv:{yy}{mm}.{n5}.",
        "https://arxiv.org/abs/{yy}{mm}.{n5}",
        "The bug was assigned CVE-{y}-{n4} and fixed the same day.",
        "Patches for CVE-{y}-{n5} are out.",
    ),
    numbers=(
        ("As RFC 9110 says, the header is optional.", "2022-06-01"),
        ("It follows RFC 8446 in all its messages.", "2018-08-10"),
        ("See PEP 695 for the syntax.", "2022-06-15"),
        ("This is required by Executive Order 14028.", "2021-05-12"),
        ("Agencies must follow M-22-09 for their networks.", "2022-01-26"),
        ("The funds come from Public Law 117-58.", "2021-11-15"),
        ("The interface is defined in RFC 7807.", "2016-03-01"),
        ("As PEP 563 has it, annotations are strings.", "2017-09-08"),
    ),
    versions=(
        ("Rust 1.56", "2021-10-21"),
        ("Rust 1.31", "2018-12-06"),
        ("rustc 1.65.0", "2022-11-03"),
        ("Python 3.9", "2020-10-05"),
        ("Python 3.12", "2023-10-02"),
        ("Ubuntu 18.04", "2018-04-26"),
        ("Ubuntu 22.04 LTS", "2022-04-21"),
        ("Node.js 16", "2021-04-20"),
        ("Node 18", "2022-04-19"),
        ("Java 17", "2021-09-14"),
        ("Go 1.18", "2022-03-15"),
        ("PostgreSQL 13", "2020-09-24"),
        ("Windows 11", "2021-10-05"),
        ("iOS 15", "2021-09-20"),
        ("Django 4.0", "2021-12-07"),
        ("Bitcoin Core 0.21", "2021-01-14"),
        ("WordPress 6.2", "2023-03-29"),
        ("macOS 12", "2021-10-25"),
        ("Kubernetes 1.24", "2022-05-03"),
        ("Debian 11", "2021-08-14"),
        ("Fedora 36", "2022-05-10"),
        ("Angular 12", "2021-05-12"),
        ("LLVM 14", "2022-03-25"),
        ("Android 12", "2021-10-04"),
        ("PHP 8.1", "2021-11-25"),
        ("Ruby 3.0", "2020-12-25"),
        ("Firefox 89", "2021-06-01"),
        ("Chrome 90", "2021-04-14"),
        ("OpenSSL 3.0", "2021-09-07"),
        (".NET 6", "2021-11-08"),
    ),
    version=(
        "We tested it with {v} on two machines.",
        "The crash happened only with {v}, as far as we saw.",
        "It runs on {v} and later.",
        "After we moved to {v} the tests were faster.",
        "Thanks to {v}, this workaround was removed.",
    ),
    names=(
        ("COVID-19", "2020-02-11"),
        ("the Omicron variant", "2021-11-26"),
        ("ChatGPT", "2022-11-30"),
        ("GitHub Copilot", "2021-06-29"),
        ("GPT-4", "2023-03-14"),
        ("Stable Diffusion", "2022-08-22"),
        ("X (formerly Twitter)", "2023-07-23"),
        ("Meta Platforms", "2021-10-28"),
        ("TikTok", "2017-09-01"),
        ("the Inflation Reduction Act", "2022-08-16"),
        ("the American Rescue Plan", "2021-03-11"),
        ("Log4Shell", "2021-12-10"),
        ("the WannaCry attack", "2017-05-12"),
        ("the Heartbleed bug", "2014-04-07"),
        ("Visual Studio Code", "2015-04-29"),
        ("GitHub Actions", "2018-10-16"),
        ("Let's Encrypt", "2014-11-18"),
        ("login.gov", "2017-04-06"),
        ("the #MeToo movement", "2017-10-15"),
        ("Pokémon Go", "2016-07-06"),
        ("AirTags", "2021-04-20"),
        ("Claude 2", "2023-07-11"),
        ("Perplexity AI", "2022-12-07"),
        ("the SolarWinds hack", "2020-12-13"),
        ("Silicon Valley Bank's collapse", "2023-03-10"),
        ("the Brexit vote", "2016-06-23"),
        ("the Capitol riot", "2021-01-06"),
        ("Disney+", "2018-11-08"),
        ("Google Stadia", "2019-03-19"),
        ("the Colonial Pipeline attack", "2021-05-07"),
    ),
    name=(
        "People compared it with {n} at once.",
        "That was before {n} changed everything.",
        "Much of this was written about {n} as well.",
        "See our page on {n} for details.",
        "After {n}, the office updated its guidance.",
    ),
    office=(
        "{t} {p} signed the order.",
        "“It was a long week,” {t} {p} told reporters.",
        "A spokesman for {t} {p} declined to comment.",
        "{t} {p} met the team last week.",
    ),
    footers=(
        "© {y} Example Media LLC. All rights reserved.",
        "Copyright {y} by the authors.",
        "© 2011-{y} Example Foundation",
        "Copyright (c) {y}, Example Inc.",
        "Page last updated: {d}",
        "Last modified on {d}.",
        "Date last reviewed: {m}",
    ),
    banners=(
        ("Do Not Sell My Personal Information", "2019-06-01"),
        ("Your rights under the California Consumer Privacy Act (CCPA)", "2018-06-28"),
        ("Proudly powered by WordPress 6.4", "2023-11-07"),
        ('<meta name="generator" content="Hugo 0.119.0">', "2023-09-24"),
        ('<meta name="generator" content="WordPress 5.8.1" />', "2021-07-20"),
        ("This site is protected by reCAPTCHA v3.", "2018-10-29"),
        ("Share this on Threads", "2023-07-05"),
        ("Follow us on Bluesky and Mastodon", "2023-02-01"),
        ("This site uses Google Analytics 4.", "2020-10-14"),
        ("Powered by Drupal 9", "2020-06-03"),
    ),
)
