"""Reads C++ as far as docs/make-reference needs it: constants with their comments, calls with their arguments, texts.

No parser: it knows comments, strings and brackets, and the forms that the code is written in. What it cannot read, its
callers report.
"""

import bisect
import functools
import re

TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|(?P<text>"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])'""", re.S)
CONSTANT = re.compile(r"^ *(?:inline |static )*(?:constexpr|const) (?:const char\* (?:const )?|std::string_view |auto )"
                      r"(?P<name>k\w+) *(?:=|\{)\s*(?P<value>\"[^;]*?\")\}?;", re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)  # read from the whole text: masks of all files take seconds
# What may be a function's or a lambda's name and its first bracket; and what may stand between its parameters and its body.
FUNCTION = re.compile(r"(?:auto (?P<lambda>\w+) = \[[^\]]*\]|\b(?!if\b|for\b|while\b|switch\b|catch\b)(?P<function>[\w:~]+)) ?\(")
BODY = re.compile(r"\s*(?:(?:const|noexcept|mutable|override|-> [\w:<>]+) ?)*\{")
ESCAPES = {"n": "\n", "t": "\t"}
CLOSES = {"(": ")", "{": "}", "[": "]"}


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def plain(literal):
    """What one literal with its quotes says."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), literal[1:-1])


def text_of(expression):
    """What literals, one behind the other, say; None: there is more than literals."""
    literals = re.findall(r'"(?:\\.|[^"\\])*"', expression)
    rest = re.sub(r'"(?:\\.|[^"\\])*"', "", expression).strip()
    return "".join(map(plain, literals)) if literals and not rest else None


def split(text):
    """What stands between commas, but for those in strings and brackets."""
    out, depth, last = [], 0, 0
    for mark in re.finditer(r'"(?:\\.|[^"\\])*"|[(){}\[\],]', text):
        found = mark.group(0)
        if found == "," and depth == 0:
            out.append(text[last:mark.start()].strip())
            last = mark.end()
        elif found in "(){}[]":
            depth += 1 if found in CLOSES else -1
    return [*out, text[last:].strip()]


class Constant:
    def __init__(self, file, at, namespace, name, value, comment):
        self.file, self.at, self.namespace, self.name, self.value, self.comment = file, at, namespace, name, value, comment


class File:
    """One file. `code` is its text without comments, `bare` without what stands in strings too; places are the same."""

    def __init__(self, name, text):
        self.name, self.text = name, text  # the name from the root on

    @functools.cached_property
    def masks(self):
        code, bare = [], []
        last = 0
        for token in TOKEN.finditer(self.text):
            between, found = self.text[last:token.start()], token.group(0)
            last = token.end()
            code += [between, blank(found) if token.group("comment") else found]
            bare += [between, blank(found) if token.group("comment") else found[0] + blank(found[1:-1]) + found[-1]]
        code.append(self.text[last:])
        bare.append(self.text[last:])
        return "".join(code), "".join(bare)

    code = property(lambda self: self.masks[0])
    bare = property(lambda self: self.masks[1])

    @functools.cached_property
    def ends(self):
        return [match.start() for match in re.finditer("\n", self.text)]

    def line(self, at):
        return bisect.bisect_left(self.ends, at) + 1

    def place(self, at):
        return f"{self.name}:{self.line(at)}"

    @functools.cached_property
    def namespace(self):
        found = NAMESPACE.search(self.text)
        return found.group(1) if found else ""

    def namespace_at(self, at):
        """With those in it, by the comments at their ends."""
        open_ones = []
        for found in re.finditer(r"^namespace ([\w:]+) \{|^\}  // namespace (\w.*)", self.text[:at], re.M):
            if found.group(1):
                open_ones.append(found.group(1))
            elif open_ones:
                open_ones.pop()
        return "::".join(open_ones)

    def closing(self, at):
        """Where the bracket that opens at `at` is closed."""
        depth = 0
        for bracket in re.compile(r"[(){}\[\]]").finditer(self.bare, at):
            depth += 1 if bracket.group(0) in CLOSES else -1
            if depth == 0:
                return bracket.start()
        return len(self.bare)

    def arguments(self, at):
        """(from, to) of each that stands between the bracket at `at` and its end."""
        end = self.closing(at)
        out, begin, depth = [], at + 1, 0
        for mark in re.compile(r"[(){}\[\],]").finditer(self.bare, at + 1, end):
            found = mark.group(0)
            if found == "," and depth == 0:
                out.append((begin, mark.start()))
                begin = mark.end()
            elif found != ",":
                depth += 1 if found in CLOSES else -1
        if self.bare[begin:end].strip():
            out.append((begin, end))
        return out

    def said(self, span):
        """The code there, in one line."""
        return " ".join(self.code[slice(*span)].split())

    def statement(self, at):
        """(from, to) of the statement that `at` is in."""
        begin = max(self.bare.rfind(mark, 0, at) for mark in ";}{")
        while begin >= 0 and self.bare[begin] == "{" and self.closing(begin) < self.bare.find(";", at):
            begin = max(self.bare.rfind(mark, 0, begin) for mark in ";}{")  # a list of the statement
        end = self.bare.find(";", at)
        return begin + 1, len(self.bare) if end < 0 else end

    def comment_above(self, at, marks=("//",)):
        """The comment lines right above the line of `at`, as one text."""
        lines = self.text[:self.text.rfind("\n", 0, at) + 1].split("\n")[:-1]
        out = []
        while lines and lines[-1].strip().startswith(marks):
            out.insert(0, lines.pop().strip().lstrip("/").strip())
        return " ".join(out)

    def comment_of(self, match):
        """Of a declaration: the /// above it, and the // behind it."""
        end = self.text.find("\n", match.end())
        behind = re.match(r"\s*//+\s*(.*)", self.text[match.end():end if end >= 0 else None])
        return " ".join(part for part in (self.comment_above(match.start(), ("///",)), behind.group(1) if behind else "") if part)

    @functools.cached_property
    def constants(self):
        out = []
        is_there = "constexpr" in self.text or "const char*" in self.text
        for found in CONSTANT.finditer(self.text) if is_there else ():
            value = text_of(found.group("value"))
            if value is not None:
                at = found.start("name")
                out.append(Constant(self, at, self.namespace_at(at), found.group("name"), value, self.comment_of(found)))
        return out

    def around(self, at, name):
        """The function or lambda around `at` that has a parameter `name`; None: there is none."""
        for found in reversed(list(FUNCTION.finditer(self.bare, 0, at))):
            open_at = found.end() - 1
            body = BODY.match(self.bare, self.closing(open_at) + 1)
            if not body or not body.end() <= at <= self.closing(body.end() - 1):
                continue
            names = [re.search(r"(\w*)\s*(?:=.*)?$", self.said(span)).group(1) for span in self.arguments(open_at)]
            if name in names:
                return Function(found.start(), found.group("function") or "", found.group("lambda") or "", names)
        return None


class Function:
    def __init__(self, begin, name, lambda_, parameters):
        self.begin, self.parameters = begin, parameters
        self.room, _, self.name = (lambda_ or name).rpartition("::")  # its class, where it is written outside of it


class Sources:
    """All of src/ that programs are made of: no tests, and nothing that only tests use."""

    def __init__(self, tree, known=()):
        """`known`: files as other Sources have them; those of the same text are taken from there."""
        self.tree = tree
        known = {(file.name, file.text): file for file in known}
        self.files = []
        for name in tree.names("src", (".h", ".cc")):
            if not re.search(r"_test\.|/testing/|/test_", name):
                text = tree.text(name)
                self.files.append(known.get((name, text)) or File(name, text))

    def of(self, *rooms):
        return [file for file in self.files if file.name.startswith(rooms)]

    def named(self, name):
        return next((file for file in self.files if file.name == name), None)

    @functools.cached_property
    def constants(self):
        return [constant for file in self.files for constant in file.constants]

    @functools.cached_property
    def by_name(self):
        out = {}
        for constant in self.constants:
            out.setdefault(constant.name, []).append(constant)
        return out

    def constant(self, file, expression):
        """The one that `room::kName` means in that file; None: it is none, or of no text."""
        room, _, name = expression.rpartition("::")
        if not re.fullmatch(r"k\w+", name):
            return None
        known = self.by_name.get(name, [])
        own = [one for one in known if one.file is file]
        if not room and own:
            return own[0]
        there = [one for one in known if one.namespace == file.namespace] if not room else [
            one for one in known if one.namespace == room or one.namespace.endswith("::" + room)]
        return there[0] if there else None

    def value(self, file, expression):
        """The text of literals or of a constant; None: neither."""
        constant = self.constant(file, expression)
        return constant.value if constant else text_of(expression)
