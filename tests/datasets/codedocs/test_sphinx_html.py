"""Pages as Sphinx builds them, in several of its themes: signature, parameters and code stay, all around them goes."""

from __future__ import annotations

import pytest

from ticlm.datasets.codedocs.rst import BrokenPage
from ticlm.datasets.codedocs.sphinx_html import html_page

BODY = """
<section id="add"><h1>toy.add<a class="headerlink" href="#add">{mark}</a></h1>
<dl class="py function"><dt class="sig"><span>toy.</span><span>add</span><span>(</span><em>a</em>,
<em>b=2</em><span>)</span>
<a class="reference internal" href="_modules/toy.html"><span class="viewcode-link">[source]</span></a>
<a class="headerlink" href="#add">{mark}</a></dt>
<dd><p>Add two&nbsp;numbers.</p>
<dl class="field-list simple"><dt>Parameters:</dt><dd><dl>
<dt><strong>a, b</strong><span class="classifier">array_like</span></dt><dd><p>What to add.</p></dd></dl></dd></dl>
<div class="highlight"><pre><span>&gt;&gt;&gt; </span>add(1,
...     2)
3
</pre></div>
<table class="docutils"><thead><tr><th><p>name</p></th><th><p>value</p></th></tr></thead>
<tbody><tr><td><p>one</p></td><td><p>1</p></td></tr></tbody></table>
<div class="math"><span class="eqno">(1)</span>\\[e = 1\\]</div>
</dd></dl></section>
"""
THEMES = {
    "alabaster": """<div class="document"><div class="bodywrapper"><div class="body" role="main">BODY</div></div>
        <div class="sphinxsidebar" role="navigation"><a href="x">Navigation</a></div></div>
        <div class="footer">©2024, Somebody.</div>""",
    "pydata": """<header>Switch version</header><div class="bd-sidebar-primary">Section Navigation</div>
        <main class="bd-main" role="main"><div class="bd-header-article"><ul><li>API</li></ul></div>
        <article class="bd-article">BODY</article>
        <footer class="prev-next-footer">previous next</footer><div class="page-toc">On this page</div></main>""",
    "rtd": """<nav>Menu</nav><div role="navigation">Home / toy.add</div>
        <div role="main" class="document"><div itemprop="articleBody">BODY</div></div>
        <footer>Built with Sphinx</footer>""",
    "furo": """<aside>Menu</aside><article role="main" id="furo-main-content">BODY</article>
        <div class="related-pages">Next</div>""",
    "old": """<div class="related">index | modules</div><div class="document"><div class="body">BODY</div></div>
        <div class="sphinxsidebar">This Page</div>""",
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", ["¶", "#", "\uf0c1"])
def test_every_theme_gives_the_same_text(theme: str, mark: str) -> None:
    html = f"<html><head><title>toy.add — Toy 1.2 Manual</title></head><body>{THEMES[theme]}</body></html>"
    page = html_page("a.html", html.replace("BODY", BODY.format(mark=mark)))
    assert page.title == "toy.add"
    assert page.text == (
        "toy.add(a, b=2)\n\nAdd two numbers.\n\nParameters:\na, b : array_like\n\nWhat to add.\n\n"
        ">>> add(1,\n...     2)\n3\n\nname | value\none | 1\n\\[e = 1\\]"
    )


def test_field_lists_that_were_tables_keep_what_they_say() -> None:
    html = """<div class="body"><h1>f</h1><table class="docutils field-list"><tr class="field"><th>Parameters:</th>
        <td><p><strong>a</strong> : int</p><blockquote><div><p>What.</p></div></blockquote></td></tr></table></div>"""
    words = html_page("a.html", html).text.split()
    assert words == ["Parameters:", "a", ":", "int", "What."]


def test_the_title_is_that_of_the_window_where_there_is_no_heading() -> None:
    html = '<html><head><title>Guide — Toy 1.2</title></head><body><div class="body"><p>Words.</p></div></body></html>'
    page = html_page("a.html", html)
    assert (page.title, page.text) == ("Guide", "Words.")


@pytest.mark.parametrize("html", ["", "<html></html>", "<div role=main></div>", "no markup at all", "<p>cut of"])
def test_a_page_that_is_none_is_no_accident(html: str) -> None:
    try:
        page = html_page("a.html", html)
    except BrokenPage as broken:
        assert str(broken) == "without text"
    else:
        assert page.text in ("", "no markup at all", "cut of")
