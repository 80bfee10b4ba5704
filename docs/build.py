"""Build the documentation site, offline: the project's Markdown, an API page for each package, schemas, llms.txt.

python docs/build.py [REPORTS]    # into build/site; REPORTS: where the demo's report lies, such as runs/reports
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.schema import schema

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "docs/first-hour.md": "first-hour.md",
    "docs/manual.md": "manual.md",
    "docs/report.md": "report.md",
    "docs/reference.md": "reference.md",
    "docs/notebook.md": "notebook.md",
    "docs/extending.md": "extending.md",
    "docs/keeping-a-model.md": "keeping-a-model.md",
    "docs/methods.md": "methods.md",
    "docs/data.md": "data.md",
    "docs/ckl.md": "ckl.md",
    "docs/evolvingqa.md": "evolvingqa.md",
    "docs/temporalwiki.md": "temporalwiki.md",
    "docs/dated-facts.md": "dated-facts.md",
    "docs/age.md": "age.md",
    "docs/vintages.md": "vintages.md",
    "docs/sizing.md": "sizing.md",
    "docs/evaluations.md": "evaluations.md",
    "docs/cluster.md": "cluster.md",
    "docs/results/README.md": "results.md",
    "docs/results/tic_lm.md": "results-tic-lm.md",
    "docs/results/methods.md": "results-methods.md",
    "docs/results/ckl.md": "results-ckl.md",
    "docs/results/evolvingqa.md": "results-evolvingqa.md",
    "docs/results/temporalwiki.md": "results-temporalwiki.md",
    "docs/results/dates.md": "results-dates.md",
    "docs/results/log.md": "results-log.md",
    "docs/log.md": "log.md",
    "docs/reliability.md": "reliability.md",
    "k8s/README.md": "kuberay.md",
    "tune_spaces/README.md": "spaces.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Markdown of the project, and the page that each file becomes."""

REFERENCE = "reference.md"
TOPS = ("core", "platform", "methods", "datasets", "tune_spaces")
FACES = {
    "ticlm.core": "Foundations that everything else imports: settings, periods, mixtures, stores, leases.",
    "ticlm.methods": "Methods of continual training: schedules, replay, penalties, optimizers, objectives.",
    "ticlm.tune_spaces": "Search spaces: one module per space, each with a constant `SPACE`.",
}
"""What the rooms without an `__init__.py` hold."""


def main(reports: Path | None = None) -> int:
    """Lay the pages out and run Zensical on them; return its exit code. A link that leads nowhere fails.

    The newest report of the demo in the folder `reports`, where given, becomes a page.
    """
    lay_out(ROOT / "build/docs")
    if reports is not None:
        add_sample(ROOT / "build/docs", reports)
    copy_package(ROOT / "build/package")
    tool = Path(sys.executable).with_name("zensical")
    return subprocess.run([tool, "build", "--clean", "--strict"], cwd=ROOT).returncode


def lay_out(folder: Path) -> None:
    """Write every page, and llms.txt, into a folder that holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "api").mkdir(parents=True)
    for source, page in PAGES.items():
        (folder / page).write_text(relinked((ROOT / source).read_text(), source))
    for page, text in split((folder / REFERENCE).read_text()).items():
        (folder / page).write_text(text)
    shutil.copytree(ROOT / "docs/figures", folder / "figures")
    (folder / "schema").mkdir()
    for kind in FILES:
        (folder / f"schema/{kind}.json").write_text(json.dumps(schema(kind), indent=1, ensure_ascii=False) + "\n")
    index = ["# API", "The packages from the ground up, with what their docstrings say.", ""]
    for package in packages():
        text = face(package)
        members = [f"::: {name}" for name in modules(package)]
        (folder / f"api/{package}.md").write_text("\n\n".join([f"# {package}", text, *members]) + "\n")
        index.append(f"- [`{package}`]({package}.md): {text.partition(chr(10))[0]}")
    (folder / "api/index.md").write_text("\n".join(index) + "\n")
    (folder / "llms.txt").write_text(llms())


def split(text: str) -> dict[str, str]:
    """Return the pages of the reference by name: one for each kind of file, with nothing folded, and the first."""
    first, *kinds = re.split(r"\n(?=## .+\n\nFor `ticlm )", text)
    pages = {REFERENCE: first}
    for part in kinds:
        part = re.sub(r"</?details.*?>\n|<summary>.*?</summary>\n", "", f"{part}\n").rstrip("\n")
        name = anchor(part.partition("\n")[0])
        pages[f"reference-{name}.md"] = re.sub(r"^##(#?) ", r"#\1 ", part, flags=re.MULTILINE) + "\n"
    homes = {
        anchor(heading): page
        for page, part in reversed(pages.items())
        for heading in re.findall(r"^#+ .+$", part, re.MULTILINE)
    }
    return {
        page: re.sub(r"\]\(#([\w-]+)\)", lambda one: f"]({homes[one[1]]}#{one[1]})", part)
        for page, part in pages.items()
    }


def anchor(heading: str) -> str:
    """Return the anchor of a heading without marks in it."""
    return heading.lstrip("# ").lower().replace(" ", "-")


def add_sample(folder: Path, reports: Path) -> None:
    """Copy the newest report of the demo among these reports to the page `sample/`."""
    found = sorted(reports.glob("demo*/index.html"), key=lambda page: page.stat().st_mtime)
    if not found:
        raise SystemExit(f"{reports}: no report of the demo there; make it with: make demo")
    shutil.copytree(found[-1].parent, folder / "sample")
    index = folder / "index.md"
    link = "**[A sample report](sample/index.html)**, the page that `make demo` writes.\n\n**Next:**"
    index.write_text(index.read_text().replace("**Next:**", link, 1))


def copy_package(folder: Path) -> None:
    """Copy the package without links and with an `__init__.py` in every folder, as mkdocstrings needs it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "src/ticlm", folder / "ticlm", ignore=shutil.ignore_patterns("__pycache__"))
    for top in TOPS:
        (folder / "ticlm" / top / "__init__.py").touch()


def packages() -> list[str]:
    """Return the packages as they are imported, by name."""
    faces = [file for top in ("platform", "datasets") for file in sorted((ROOT / top).glob("*/__init__.py"))]
    return [
        "ticlm.core",
        "ticlm.methods",
        "ticlm.tune_spaces",
        *(f"ticlm.{file.parts[-3]}.{file.parts[-2]}" for file in faces),
    ]


def modules(package: str) -> list[str]:
    folder = ROOT.joinpath(*package.split(".")[1:])
    files = sorted(file for file in folder.rglob("*.py") if file.name != "__init__.py")
    return [".".join(("ticlm", *file.relative_to(ROOT).with_suffix("").parts)) for file in files]


def face(package: str) -> str:
    """Return what a package's `__init__.py` says of it."""
    if package in FACES:
        return FACES[package]
    file = ROOT.joinpath(*package.split(".")[1:], "__init__.py")
    return ast.get_docstring(ast.parse(file.read_text())) or ""


def relinked(text: str, source: str) -> str:
    """Return Markdown whose links lead to the site's pages; a link to another file becomes its path in the project."""

    def link(match: re.Match[str]) -> str:
        label, target = match.groups()
        file, _, anchor = target.partition("#")
        if "://" in target or not file:
            return match.group(0)
        path = (ROOT / source).parent.joinpath(file).resolve().relative_to(ROOT).as_posix()
        if not (ROOT / path).exists():
            raise SystemExit(f"{source}: a link leads to {target}, which is not there")
        page = PAGES.get(path) or PAGES.get(f"{path}/README.md")
        if page is None:
            return f"{label} (`{path}`)"
        return f"[{label}]({page}{f'#{anchor}' if anchor else ''})"

    text = re.sub(r"(!\[[^\]]*\]\()(?:docs/|\.\./)?(figures/)", r"\1\2", text)  # pictures lie beside the site's pages
    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", link, text)


def llms() -> str:
    """Return the site's map for language models (llmstxt.org): a line for each page.

    Zensical's own plugin for it wants the URL of the site, which an offline site lacks.
    """
    lines = ["# ticlm", "", "> Time-continual language modelling on Ray.", "", "## Pages", ""]
    for source, page in PAGES.items():
        title = re.search(r"^# (.+)$", (ROOT / source).read_text(), re.MULTILINE)
        link = "./" if page == "index.md" else f"{page.removesuffix('.md')}/"
        lines.append(f"- [{title[1] if title else page}]({link})")
    lines += ["", "## API", ""]
    lines += [f"- [{package}](api/{package}/): {face(package).partition(chr(10))[0]}" for package in packages()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else None))
