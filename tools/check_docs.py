#!/usr/bin/env python3
"""Checks that the pages say what is there.

  - docs/inside/rules.md and docs/reference/promises.md name tests: a gtest suite or test, a contract case
    (`real/...`), a ctest test. Each one exists.
  - A comment or a page that cites a rule (R14) cites one of docs/inside/rules.md, and no rule has the number of another.
  - A comment that cites a file cites one that is there: `a/b.h` from the root, src/, docs/, a room of docs/ or the
    comment's own folder on; `x.md` also there; `b.h` anywhere. A file of another project is cited by its URL, or as
    `k8s.io/...`, `github.com/...`.
    Comments are those of src, test, bench, fuzz, cmake and tools: C++, CMake, Python (with a file's first text) and shell.
  - Any file that names a page or a picture of docs/ (a message, a chart's value, a manifest) names one that is there.
  - docs/reference/gkm-faults.md has a row for each of its faults, once and in order, and each row a test that exists,
    or why there can be none.
  - docs/inside/testing.md has a row for each feature of the seeds (test/sim/features.cc), and no other.
  - A link of a page to a file here, or to a heading, leads somewhere. Pages are all .md files of the tree.
  - docs/README.md has a link to each page of docs/, or to its folder.

Prints file:line, what is wrong and the fix; exits 1 when anything was found. `--self-test` plants one of each in a temporary tree.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", re.M)
INSTANCE = re.compile(r"^INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)", re.M)
RULE = re.compile(r"^\*\*(R\d+)\. ", re.M)
CITED = re.compile(r"(?<![\w\"'])R\d+\b")
# A file that a comment names. Not a part of a URL or of a longer name, and no pattern (`<name>_test.cc`, `*.h`).
FILE = re.compile(r"(?<![\w./:~<>*$}-])((?:[\w.-]+/)*[\w.-]*\w\.(?:h|cc|md))\b(?![\w/*])")
HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+/")  # k8s.io/..., github.com/...: another project's
CPP_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.S)
FIRST_TEXT = re.compile(r'(?:#[^\n]*\n|\s)*("""|\'\'\')(.*?)\1', re.S)
SCRIPT = (".py", ".sh", ".cmake")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FEATURE = re.compile(r"\{Feature::\w+, \"([\w-]+)\"")
FAULT = re.compile(r"^\| (\d+) \|.*\| (.*) \|$", re.M)
FAULTS = 35
STEP = re.compile(r"`real/([\w-]+)` \(\"([^\"]+)\"\)")
CTESTS = {"conformance_replay", "real/conformance", "real/conformance-newest", "real/charts-on-sandbox", "real/chart-oddities", "real/dra-allocations", "real/filters", "real/filters-newest", "sim_seeds", "sim_known_seeds", "sim_dra", "sim_pods", "mutants"}
# A page or a picture of docs/, as any file may name it: from the root on, or by ../docs/.
PAGE = re.compile(r"(?:(?<![\w/.$}-])|(?<=\.\./))docs/[\w./-]*\w\.(?:md|svg|dot)\b")
NOT_OURS = {".git", ".cache", "build", "dist", "shared", "corpus", "__pycache__"}  # folders
CODE = ("src", "test", "bench", "fuzz", "tools", "cmake")


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.found = []

    def report(self, path, line, what, fix):
        self.found.append(f"{path.relative_to(self.root).as_posix()}:{line}: {what}\n    fix: {fix}")

    def files(self, folders, endings):
        for folder in folders:
            yield from sorted(p for p in (self.root / folder).rglob("*") if p.is_file() and p.suffix in endings)

    def run(self):
        self.suites = {}
        for path in self.files(("src", "test"), (".cc", ".h")):
            text = path.read_text(errors="replace")
            for suite, name in TEST.findall(text):
                self.suites.setdefault(suite, set()).add(name)
            for name, suite in INSTANCE.findall(text):
                self.suites.setdefault(f"{name}/{suite}", set())
        everything = sorted(self.everything())
        pages = [path for path in everything if path.suffix == ".md"]
        for page in pages:
            text = page.read_text()
            if page.name in ("rules.md", "promises.md"):
                self.check_tests(page, text)
            self.check_links(page, text)
        self.check_index([page for page in pages if self.root / "docs" in page.parents])
        for path in everything:
            self.check_named_pages(path, path.read_text(errors="replace"))
        self.check_rules(pages)
        self.check_features()
        self.check_faults()
        return self.found

    def everything(self):
        """Every file of the tree but this one, whose self-test names what is not there. No links, no folders of others."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            for path in (pathlib.Path(folder) / name for name in names):
                if path.is_file() and not path.is_symlink() and path.name != pathlib.Path(__file__).name:
                    yield path

    def check_named_pages(self, path, text):
        for named in PAGE.finditer(text):
            if not (self.root / named.group(0)).is_file():
                self.report(path, line_of(text, named.start()), f"there is no {named.group(0)}", "name it by its room: docs/use/...")

    def check_tests(self, page, text):
        for part in re.finditer(r"^Tests?: (.*?)(?=\n\n|\Z)", text, re.M | re.S):
            self.check_names(page, text, part.span(1))

    def check_names(self, page, text, span):
        """Every name in backquotes there. How many there are."""
        # What stands in brackets says more of the name before it: a feature, a seed, a file.
        names = re.sub(r"\([^)]*\)", lambda m: " " * len(m.group(0)), text[slice(*span)])
        found = list(re.finditer(r"`([^`]+)`", names))
        for name in found:
            if not self.is_test(name.group(1)):
                self.report(page, line_of(text, span[0] + name.start()), f"there is no test {name.group(1)}",
                            "name the suite or test that shows it now, as `Suite.Test`, `real/case`, or a ctest test")
        return len(found)

    def is_test(self, name):
        if name in CTESTS or name.startswith("real/") and (self.root / f"test/testbed/contract/cases/{name[5:]}.sh").is_file():
            return True
        if "/" in name and (self.root / name).is_file():
            return True
        suite, _, test = name.partition(".")
        plain = suite.split("/")[-1]
        return suite in self.suites and (not test or test in self.suites[plain])

    def check_rules(self, pages):
        page = self.root / "docs/inside/rules.md"
        text = page.read_text() if page.is_file() else ""
        known = set()
        for rule in RULE.finditer(text):
            if rule.group(1) in known:
                self.report(page, line_of(text, rule.start()), f"another rule {rule.group(1)}", "take the next free number")
            known.add(rule.group(1))
        for path in pages:
            self.check_cited_rules(path, 1, path.read_text(), known)
        names = {path.name for path in self.files(CODE, (".h", ".cc"))}
        self.rooms = [path for path in (self.root / "docs").glob("*") if path.is_dir()]
        for path, line, comment in self.comments():
            self.check_cited_rules(path, line, comment, known)
            self.check_cited_files(path, line, comment, names)

    def comments(self):
        """Every comment of the code: its file, the line where it begins, its text."""
        for folder in CODE:
            for path in sorted((self.root / folder).rglob("*")):
                if not path.is_file() or path.name == pathlib.Path(__file__).name:
                    continue
                if path.suffix in (".h", ".cc"):
                    text = path.read_text(errors="replace")
                    for match in CPP_COMMENT.finditer(text):
                        if match.group(0).startswith("/"):
                            yield path, line_of(text, match.start()), match.group(0)
                elif path.suffix in SCRIPT or path.name == "CMakeLists.txt" or not path.suffix and path.open("rb").read(2) == b"#!":
                    yield from self.comments_of_script(path, path.read_text(errors="replace"))

    @staticmethod
    def comments_of_script(path, text):
        first = FIRST_TEXT.match(text)
        if first:
            yield path, line_of(text, first.start(2)), first.group(2)
        for number, line in enumerate(text.splitlines(), 1):
            begin = re.search(r"(?:^|\s)#", line)
            if begin:
                yield path, number, line[begin.start():]

    def check_cited_rules(self, path, line, text, known):
        for cited in CITED.finditer(text):
            if cited.group(0) not in known:
                self.report(path, line + text.count("\n", 0, cited.start()), f"there is no rule {cited.group(0)}",
                            "cite one of docs/inside/rules.md, or add it there")

    def check_cited_files(self, path, line, text, names):
        for cited in FILE.finditer(text):
            name = cited.group(1)
            if HOST.match(name):
                continue
            if "/" in name or name.endswith(".md"):
                is_there = any((self.root / folder / name).is_file() for folder in ("", "src", "docs", *self.rooms, path.parent))
            else:
                is_there = name in names
            if not is_there:
                self.report(path, line + text.count("\n", 0, cited.start()), f"there is no file {name}",
                            "name it from the root, src/, docs/, its rooms or this folder on; another project's by its URL")

    def check_features(self):
        page, table = self.root / "docs/inside/testing.md", self.root / "test/sim/features.cc"
        if not table.is_file():
            return
        text = page.read_text() if page.is_file() else ""
        named = re.search(r"^\| feature \|.*?(?=\n\n|\Z)", text, re.M | re.S)
        rows = set(re.findall(r"^\| `([\w-]+)` \|", named.group(0) if named else "", re.M))
        known = set(FEATURE.findall(table.read_text()))
        for name in sorted(known ^ rows):
            what = "is not in the table of features" if name in known else "is no feature of test/sim/features.cc"
            self.report(page, line_of(text, named.start()) if named else 1, f"{name} {what}", "mend the table")

    def check_faults(self):
        page = self.root / "docs/reference/gkm-faults.md"
        if not page.is_file():
            return
        text = page.read_text()
        rows = list(FAULT.finditer(text))
        numbers = [int(row.group(1)) for row in rows]
        if numbers != list(range(1, FAULTS + 1)):
            self.report(page, line_of(text, rows[0].start()) if rows else 1, f"the rows are {numbers}", f"write 1 to {FAULTS}, each once, in order")
        for row in rows:
            if not self.check_names(page, text, row.span(2)) and "Cannot occur: " not in row.group(2):
                self.report(page, line_of(text, row.start()), f"row {row.group(1)} has no test", "name one, or write 'Cannot occur: ' and why")
            for case, step in STEP.findall(row.group(2)):
                file = self.root / f"test/testbed/contract/cases/{case}.sh"
                if file.is_file() and f'step "{step}' not in file.read_text():
                    self.report(page, line_of(text, row.start()), f'real/{case} has no step "{step}"', "write how the step begins")

    def check_index(self, pages):
        index = self.root / "docs/README.md"
        text = index.read_text() if index.is_file() else ""
        listed = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(text) if "://" not in link}
        for page in pages:
            if page != index and not listed & {page.resolve(), page.parent.resolve()}:
                self.report(page, 1, "docs/README.md does not list it", "add a line there: what it is for")

    def check_links(self, page, text):
        prose = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
        for link in LINK.finditer(prose):
            target, _, heading = link.group(1).partition("#")
            if "://" in target:
                continue
            path = (page.parent / target) if target else page
            if not path.exists():
                self.report(page, line_of(prose, link.start()), f"the link {link.group(1)} leads nowhere", "name a file from this page's folder on")
            elif heading and path.suffix == ".md" and heading not in {anchor(h) for h in re.findall(r"^#+ (.*)", path.read_text(), re.M)}:
                self.report(page, line_of(prose, link.start()), f"there is no heading #{heading}", f"name a heading of {path.name}")


# ---- Self-test: a clean tree, and what is put into it.
CLEAN = {
    "docs/inside/rules.md": "# Rules\n\n**R1. One.**\nWhy. [There](../reference/promises.md#all-of-it)\nTests: `Suite`, `Suite.Test`, `Table/Suite.Test`, `real/case`\n(`a feature`), `sim_seeds`.\n",
    "docs/reference/promises.md": "# Promises\n\n## All of it\n\nR1. [a](https://nowhere)\n\n```\n[b](gone.md)\n```\n",
    "src/a_test.cc": "TEST(Suite, Test) {}\nINSTANTIATE_TEST_SUITE_P(Table, Suite, x);\nauto s = \"R2\";  // R1\n",
    "src/room/b.h": "// room/b.h, b.h, a_test.cc, rules.md, inside/rules.md, docs/inside/rules.md, src/a_test.cc; https://x.org/c.md, k8s.io/c/d.h, <c>_d.h,\n"
                    "// c/*_d.h, e.html\n/* R1 */ auto t = \"// gone/c.h\"; auto u = R\"(\n// gone/c.h)\"; auto c = '\"';  // room/b.h\n",
    "cmake/CMakeLists.txt": "# src/room/b.h\nset(x \"c#gone/c.h\")\n",
    "tools/run": "#!/bin/sh\nx='gone/c.h'  # docs/inside/rules.md\n",
    "test/testbed/contract/cases/case.sh": "# R1\nstep \"one, and all\"\n",
    "test/sim/features.cc": '{Feature::Late, "late", 5},\n',
    "docs/inside/testing.md": "| feature | what |\n|---|---|\n| `late` | x |\n\n| `other` | y |\n",
}
FAULT_ROWS = [f"| {n} | x | y | `Suite.Test` (row `a`), `real/case` (\"one\") |\n" for n in range(1, FAULTS)] + [
    f"| {FAULTS} | x | y | Cannot occur: nobody asks |\n"]
CLEAN["docs/reference/gkm-faults.md"] = "".join(FAULT_ROWS)
CLEAN["docs/inside/decisions/a.md"] = "# One\n"
CLEAN["docs/README.md"] = "[a](inside/rules.md#rules) [b](reference) [c](inside/testing.md) [d](inside/decisions)\n"
PLANTS = [
    ("docs/reference/gkm-faults.md", "".join(FAULT_ROWS[:1] + FAULT_ROWS[2:]), "docs/reference/gkm-faults.md:1: the rows are [1, 3, "),
    ("docs/reference/gkm-faults.md", "", "docs/reference/gkm-faults.md:1: the rows are []"),
    ("docs/reference/gkm-faults.md", "".join(FAULT_ROWS).replace("| 2 | x | y | `Suite.Test`", "| 2 | x | y | `Suite.Gone`"),
     "docs/reference/gkm-faults.md:2: there is no test Suite.Gone"),
    ("docs/reference/gkm-faults.md", "".join(FAULT_ROWS).replace("Cannot occur: nobody", "nobody"), "row 35 has no test"),
    ("docs/reference/gkm-faults.md", "".join(FAULT_ROWS).replace("one", "two"), 'real/case has no step "two"'),
    ("docs/reference/promises.md", "Tests: `Suite.Gone`.\n", "docs/reference/promises.md:1: there is no test Suite.Gone"),
    ("docs/reference/promises.md", "Tests: `Suite`,\n`Gone`.\n", "docs/reference/promises.md:2: there is no test Gone"),
    ("docs/reference/promises.md", "Tests: `real/gone`.\n", "there is no test real/gone"),
    ("docs/reference/promises.md", "## All of it\nSee R3.\n", "docs/reference/promises.md:2: there is no rule R3"),
    ("src/a.h", "// as R4 says\n", "src/a.h:1: there is no rule R4"),
    ("src/a.h", "/* as\n R4 says */\n", "src/a.h:2: there is no rule R4"),
    ("src/a.h", "auto c = '\"';  // as R4 says\n", "src/a.h:1: there is no rule R4"),
    ("tools/a.py", "# R5\n", "there is no rule R5"),
    ("tools/a.py", "# Says\n\"\"\"One.\n\nR5.\"\"\"\n", "tools/a.py:4: there is no rule R5"),
    ("tools/a", "#!/bin/sh\nx=1  # R5\n", "tools/a:2: there is no rule R5"),
    ("cmake/CMakeLists.txt", "# R5\n", "there is no rule R5"),
    ("src/a.h", "\n// see gone/b.h\n", "src/a.h:2: there is no file gone/b.h"),
    ("src/room/c.h", "// (room/a_test.cc)\n", "there is no file room/a_test.cc"),
    ("src/room/c.h", "/// gone.h knows\n", "there is no file gone.h"),
    ("src/a.h", "// (gone.md 2.4)\n", "src/a.h:1: there is no file gone.md"),
    ("src/a.h", "/* a\n   docs/gone.md, */\n", "src/a.h:2: there is no file docs/gone.md"),
    ("fuzz/a.cc", "int a;  // gone/b.cc\n", "there is no file gone/b.cc"),
    ("bench/a.cc", "// gone/b.cc\n", "there is no file gone/b.cc"),
    ("test/x.sh", "# docs/gone.md\n", "there is no file docs/gone.md"),
    ("tools/a", "#!/usr/bin/env bash\n# gone/b.h\n", "tools/a:2: there is no file gone/b.h"),
    ("cmake/a.cmake", "set(a b)  # gone/b.h\n", "there is no file gone/b.h"),
    ("docs/inside/rules.md", "**R1. One.**\n\n**R1. Two.**\n", "docs/inside/rules.md:3: another rule R1"),
    ("docs/use/b.md", "[c](rules.md)\n", "the link rules.md leads nowhere"),
    ("docs/reference/b.md", "[c](promises.md#gone)\n", "there is no heading #gone"),
    ("charts/x/README.md", "[c](../../docs/rules.md)\n", "the link ../../docs/rules.md leads nowhere"),
    ("charts/x/NOTES.txt", "\nSee docs/rules.md.\n", "charts/x/NOTES.txt:2: there is no docs/rules.md"),
    ("src/a.cc", "auto s = \"see docs/use/gone.md\";\n", "src/a.cc:1: there is no docs/use/gone.md"),
    ("deploy/a.yaml", "# docs/inside/rules.md, https://x.org/docs/gone.md\n", None),
    ("build/a.yaml", "# docs/gone.md\n", None),
    ("docs/use/b.md", "", "docs/use/b.md:1: docs/README.md does not list it"),
    ("docs/README.md", "[b](reference)\n", "docs/inside/rules.md:1: docs/README.md does not list it"),
    ("README.md", "[c](docs/inside/rules.md#rules)\n", None),
    ("test/sim/features.cc", '{Feature::Late, "late", 5},\n{Feature::Lost, "lost", 5},\n', "lost is not in the table of features"),
    ("test/sim/features.cc", "", "docs/inside/testing.md:1: late is no feature"),
]


def self_test():
    failures = []
    for name, content, expected in [("docs/inside/decisions/c.md", "", None), *PLANTS]:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, name: content}.items():
                file = pathlib.Path(root) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = Checker(root).run()
            if expected is None and found:
                failures.append(f"{name}: expected nothing, found {found}")
            if expected is not None and not any(expected in one for one in found):
                failures.append(f"{name}: expected '{expected}', found {found}")
    for failure in failures:
        print(failure)
    print(f"docs check self-test: {len(PLANTS) + 1 - len(failures)} of {len(PLANTS) + 1} plants answered rightly")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="plant mistakes and see each one found")
    if parser.parse_args().self_test:
        return self_test()
    found = Checker(pathlib.Path(__file__).resolve().parent.parent).run()
    for finding in found:
        print(finding)
    print(f"docs check: {len(found)} finding(s)" if found else "docs check: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
