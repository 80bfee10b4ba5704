"""Markdown as plain paragraphs below their titles: links and emphasis show their text, markup of a site is removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ticlm.datasets.codedocs.doctree import DocBlock

TEXT, CODE = 0, -1
FENCE = re.compile(r"^ {0,12}(`{3,}(?=[^`]*$)|~{3,}|:{3,})(.*)$")
"""A line that begins a block of code. With backticks behind its first ones, it is a text that begins with code."""
TITLE = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
ITEM = re.compile(r"^( {0,3})([-*+]|\d{1,3}[.)])\s+")
_DIRECTIVE = re.compile(
    r"\{(admonition|attention|caution|danger|deprecated|dropdown|error|hint|important|note|seealso|tab-item|tab-set|tip|"
    r"todo|versionadded|versionchanged|warning)\}"
)
"""Directives of MyST whose content is text; that of others is code."""
_OPTION = re.compile(r"^\s*:[\w-]+:(\s.*)?$")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_UNDERLINED = re.compile(r"^(=+|-{3,})\s*$")
_IMAGE = re.compile(r"!\[[^\]]*\](\([^()]*(\([^()]*\))?[^()]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\](\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])(\{[^}]*\})?")
_EMPTY_LINK = re.compile(r"\[\s*\](\([^()]*\)|\[[^\]]*\])")
_HTML = (
    "a|abbr|address|article|aside|audio|b|blockquote|br|button|caption|center|cite|code|col|"
    "colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|header|"
    "hr|i|iframe|img|input|ins|kbd|label|li|main|mark|nav|ol|p|picture|pre|q|s|samp|script|"
    "section|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|tfoot|th|"
    "thead|tr|tt|u|ul|var|video|wbr"
)
_TAG = re.compile(
    rf"</?(?:{_HTML})(\s[^<>]*)?/?>|</[A-Za-z][\w.-]*\s*>|"
    r"<[A-Za-z][\w.-]*(?=[\s/])(?=[^<>]*=|[^<>]*/>)[^<>]*>",
    re.I,
)
"""Tags of HTML, and others that end, have attributes or close themselves; `<package>` is a word to be replaced."""
_ALONE = re.compile(r"^\s*</?[A-Za-z][\w.-]*(\s[^<>]*)?/?>\s*$")
"""A line of one tag, of HTML or of a site's own."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_KEPT = re.compile("\ue000(\\d+)\ue001")
"""What stands for code within a line while the text around it is read; characters that no text has."""
_ADDRESS = re.compile(r"<(https?://[^>\s]+)>")
_ROLE = re.compile(r"\{[a-z:]+\}`([^`]*)`")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|__)(?=\S)(.+?)(?<=\S)\1(?![\w*])")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+\S+.*$")
_ATTRIBUTES = re.compile(r"\s*\{\s*[.#:][^}]*\}")
_RULE = re.compile(r"^\s*([-*_]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$")
_ADMONITION = re.compile(r"^\s*(?:!!!|\?\?\?\+?)\s*(\w+)\s*(?:\"(.*)\")?\s*$|^\s*>\s*\[!(\w+)\]\s*$")


def markdown_blocks(source: str) -> list[DocBlock]:
    """Return the paragraphs, items of lists, tables and blocks of code of a page, each below its titles, outermost
    first. A paragraph is one line."""
    titles: dict[int, str] = {}
    found = []
    for level, text in _parts(source):
        if level > 0:
            titles = {above: title for above, title in titles.items() if above < level} | {level: text}
        else:
            found.append(DocBlock(tuple(titles.values()), text, level == CODE))
    return found


def _parts(source: str) -> Iterator[tuple[int, str]]:
    """Yield (level, title) of each title, (CODE, text) of each block of code, and (TEXT, text) of each other block."""
    held: list[str] = []
    opened: list[str] = []
    lines = _COMMENT.sub("", _FRONT.sub("", source.replace("\r\n", "\n"))).expandtabs(4).split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if fence := FENCE.match(line):
            mark, info = fence[1], fence[2].strip()
            if mark[0] == ":" or _of_text(mark, info, opened):
                yield from _flushed(held)
                continue
            end = next((n for n in range(at, len(lines)) if lines[n].strip().startswith(mark)), len(lines))
            if not (held and ITEM.match(held[0])):
                yield from _flushed(held)
            code = lines[at:end]
            held += ["", *code] if held else code
            if held == code:
                yield CODE, "\n".join(code).strip("\n")
                held.clear()
            at = end + 1
        elif title := TITLE.match(line):
            yield from _flushed(held)
            yield len(title[1]), _inline(title[2])
        elif held and len(held) == 1 and _UNDERLINED.match(line) and not ITEM.match(held[0]):
            yield 1 if line[0] == "=" else 2, _inline(held.pop().strip())
        elif not line.strip():
            following = lines[at] if at < len(lines) else ""
            if not (held and ITEM.match(held[0]) and following.startswith("  ")):
                yield from _flushed(held)
        elif ITEM.match(line):
            yield from _flushed(held)
            held.append(line)
        elif not any(mark.match(line) for mark in (_RULE, _DEFINITION, _OPTION, _ALONE)):
            held.append(line)
    yield from _flushed(held)


def _of_text(mark: str, info: str, opened: list[str]) -> bool:
    """Return whether a fence begins or ends a directive of MyST whose content is text, and note it in `opened`."""
    if not info and mark in opened:
        opened.remove(mark)
        return True
    if _DIRECTIVE.match(info):
        opened.append(mark)
        return True
    return False


def _flushed(held: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the block of the lines held so far, if it has text, and forget them."""
    lines = [_admonition(line) for line in held]
    held.clear()
    if not any(line.strip() for line in lines):
        return
    if lines[0].lstrip().startswith("|"):
        rows = (" | ".join(cell.strip() for cell in line.strip().strip("|").split("|")) for line in lines)
        text = "\n".join(map(_inline, rows))
    elif "" in lines:  # an item with a block of code
        text = "\n".join(map(_inline, lines))
    else:
        text = _inline(" ".join(line.strip().removeprefix("> ") for line in lines))
    text = re.sub(r"^[*+] ", "- ", text.strip())
    if text and text not in ("-", ">"):
        yield TEXT, text


def _admonition(line: str) -> str:
    found = _ADMONITION.match(line)
    return line if found is None else f"{(found[1] or found[3]).capitalize()}: {found[2] or ''}".strip()


def _inline(text: str) -> str:
    """Return a text without marks of links, emphasis and HTML. Code within it stays as it is."""
    codes: list[str] = []

    def keep(code: re.Match[str]) -> str:
        codes.append(code[0])
        return f"\ue000{len(codes) - 1}\ue001"

    text = _ROLE.sub(lambda role: f"`{role[1].partition(' <')[0].lstrip('~!')}`", _KEPT.sub("", text))
    text = _EMPTY_LINK.sub("", _IMAGE.sub("", _CODE.sub(keep, text)))
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))
    text = _TAG.sub("", _ADDRESS.sub(r"\1", text))
    text = _ATTRIBUTES.sub("", _EMPHASIS.sub(r"\2", text)).rstrip()
    return _KEPT.sub(lambda kept: codes[int(kept[1])], text)
