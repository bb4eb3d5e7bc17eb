"""docs/reference/annotations.md: annotations, labels, finalizers, volume attributes and variables that others see.

A key is found as a constant whose text looks like one, as a text with one of our prefixes, or in the manifests of charts/,
deploy/ and argocd/. What it means is the comment of its constant; on what it is, who writes and who reads it, and how its
value looks stands in keys.py: each key that is found has a line there, and each line a key.
"""

import re

from reference.keys import GIVEN, GROUPS, IMAGE, KEYS, VARIABLES
from reference.page import row

OURS = r"(?:gpu\.scheduling|sandbox\.gpu\.scheduling|gkm\.io|csi\.gkm\.io|tencent\.com)"
LOOKS_SO = re.compile(r"(?:[a-z0-9-]+\.)+[a-z0-9-]+/[\w.-]*\w-?|gpu-[a-z]+-[a-z]+|io\.kubernetes\.pod\.\w+")
NAMED_SO = re.compile(r"k\w*(?:Key|Label|Finalizer|Attribute|Annotation|Gpu|Core|Memory)")
OUR_WORDS = ('"gpu.', '"sandbox.', '"gkm.', '"csi.', '"tencent.')
LITERAL = re.compile(rf'"({OURS}/[A-Za-z][\w.-]*)"')
IN_MANIFEST = re.compile(rf"(?<![\w.]){OURS}/[A-Za-z][\w.-]*\w")
VERSION = re.compile(r".*/(?:v\d\w*|gpuclaims|gpunodestatuses)")  # of a kind: no key
OF_LEASES = re.compile(r'\bput\("([\w-]+)"')
OF_IMAGES = re.compile(r'labelOf\(type, (k\w+|"[\w-]+")\)|"((?:io\.kserve\.km|org\.opencontainers)[^"]*)"')
# Of Kubernetes or its other parts, in constants that are named like ours; neither written nor read by users for our sake.
NOT_OURS = ("src/apiserver/", "src/sandbox/controllers/", "src/process/", "src/net/")
VARIABLE = re.compile(r'\b(?:env|getenv|orEnv|envOr|valueOf|variable|environment)\((?:[\w.:]+, )*(?:"([A-Z][A-Z0-9_]+)"|((?:\w+::)*k[A-Z]\w+))\)')
VARIABLES_IN_TURN = re.compile(r"for \(const char\* name : \{([^}]*)\}\) \{\s*[^}]*\b(?:environment|env)\(name\)")
FROM_POD = re.compile(r"- (?:\{)?name: ([A-Z][A-Z0-9_]+)[^\n]*?(?:\n\s+)?(?:, )?valueFrom:")



class Reader:
    def __init__(self, sources, report):
        self.sources, self.report = sources, report
        self.found, self.comments, self.variables = {}, {}, {}

    def read(self):
        for constant in self.sources.constants:
            if not constant.file.name.startswith(NOT_OURS) and LOOKS_SO.fullmatch(constant.value) and NAMED_SO.fullmatch(constant.name):
                self.add(constant.value, constant.file, constant.at)
                self.comments.setdefault(constant.value, constant.comment)
        for file in self.sources.files:
            self.read_file(file)
        for name in self.manifests():
            self.read_manifest(name, self.sources.tree.text(name))
        self.read_given()
        self.check()
        return self

    def add(self, key, file, at):
        if not VERSION.fullmatch(key):
            self.found.setdefault(key, file.place(at))

    def read_file(self, file):
        if file.name.startswith("src/apiserver/"):
            return
        for match in LITERAL.finditer(file.text) if any(word in file.text for word in OUR_WORDS) else ():
            self.add(match.group(1), file, match.start())
        if file.name == "src/kapi/write.cc":
            for match in OF_LEASES.finditer(file.text):
                self.add(f"gpu.scheduling/{match.group(1)}", file, match.start())
        if file.name == "src/kcache/content/labels.cc":
            self.read_image_labels(file)
        if "env" in file.text or "Env" in file.text:
            for match in VARIABLE.finditer(file.text):
                name = match.group(1) or self.sources.value(file, match.group(2)) or self.field(match.group(2))
                self.variables.setdefault(name, file.place(match.start()))
            for match in VARIABLES_IN_TURN.finditer(file.text):
                for name in re.findall(r'"(\w+)"', match.group(1)):
                    self.variables.setdefault(name, file.place(match.start()))

    def field(self, expression):
        """Of a constant of a class."""
        found = [one.value for one in self.sources.by_name.get(expression.rpartition("::")[2], []) if re.fullmatch(r"[A-Z0-9_]+", one.value)]
        return found[0] if found else expression

    def read_image_labels(self, file):
        for match in OF_IMAGES.finditer(file.text):
            if match.group(2):
                self.add(match.group(2), file, match.start())
            elif match.group(1).startswith("k"):
                self.add(f"cache.TYPE.image/{self.sources.value(file, match.group(1))}", file, match.start())
            else:
                name = match.group(1).strip('"')
                self.add(f"cache.vllm.image/{name}", file, match.start())

    def read_given(self):
        """What no rule finds: constants that are named otherwise, and literals of others."""
        for key, name in GIVEN.items():
            file = self.sources.named(name)
            if file and f'"{key}"' in file.text:
                self.add("gkm.io.<cache>/finalizer" if key == "gkm.io." else key, file, file.text.index(f'"{key}"'))
                self.comments.update({key: one.comment for one in file.constants if one.value == key})
        told = self.sources.named("src/webhook/pod_mutation.cc")
        pickers = re.search(r"kPickers\{([^}]*)\}", told.text) if told else None
        for name in re.findall(r'"(\w+)"', pickers.group(1)) if pickers else []:
            self.variables.setdefault(name, told.place(pickers.start()))
        for name in ("kToldVariable", "kOrderVariable"):
            for constant in self.sources.by_name.get(name, []):
                self.variables.setdefault(constant.value, constant.file.place(constant.at))

        client = self.sources.named("src/net/http_client.h")  # libcurl reads them
        for name in re.findall(r"\b[A-Z]+_PROXY\b", client.text) if client else []:
            self.variables.setdefault(name, client.place(client.text.index(name)))

    def manifests(self):
        for folder in ("charts", "deploy", "argocd"):
            yield from (name for name in self.sources.tree.names(folder, (".yaml", ".tpl", ".sh")) if "/ci/" not in name)

    def read_manifest(self, name, text):
        for match in IN_MANIFEST.finditer(text):
            key = match.group(0)
            if not VERSION.fullmatch(key) and not key.startswith("gkm.io/example"):
                self.found.setdefault(key, f"{name}:{text.count(chr(10), 0, match.start()) + 1}")
        for match in FROM_POD.finditer(text):
            self.variables.setdefault(match.group(1), f"{name}:{text.count(chr(10), 0, match.start()) + 1}")

    def check(self):
        where = "tools/reference/keys.py"
        for key, place in self.found.items():
            if key not in KEYS:
                self.report(place, f"nothing says who writes and who reads {key}", f"add it to KEYS of {where}")
            elif not self.meaning(key) and KEYS[key][0] != IMAGE:
                self.report(place, f"nothing says what {key} means", "write a comment beside its constant")
        for key in KEYS:
            if key not in self.found:
                self.report(f"{where}:1", f"nobody has the key {key}", "take it out of KEYS")
        for name, place in self.variables.items():
            if name not in VARIABLES:
                self.report(place, f"nothing says what the variable {name} means", f"add it to VARIABLES of {where}")
        for name in VARIABLES:
            if name not in self.variables:
                self.report(f"{where}:1", f"nobody reads the variable {name}", "take it out of VARIABLES")

    def meaning(self, key):
        said = KEYS[key][5] if len(KEYS[key]) > 5 else ""
        comment = re.sub(r" ?\([\w/]+\.h\)|[ ;,]*see [\w/]+\.h| \(\w+\(\)\)", "", self.comments.get(key) or "")
        return said or comment.replace("Who writes it: the webhook. ", "")


def shown(key):
    return f"`{key}<container>`" if key.endswith("-") else f"`{key}`"


def page(sources, report):
    reader = Reader(sources, report).read()
    out = ["# Annotations, labels and variables", "",
           "What users and other programs see of ours on objects, in images and in containers, and what our programs read there.",
           "A Lease is one of a GPU ([rules.md](../inside/rules.md#leases-and-the-fence)), where nothing else is said."]
    for group in GROUPS:
        keys = [key for key, line in KEYS.items() if line[0] == group and key in reader.found]
        if keys:
            out += ["", f"## {group}", "", "| key | what it is on | written by | read by | value | what it means |", "|---|---|---|---|---|---|"]
            out += [row(shown(key), *KEYS[key][1:5], reader.meaning(key)) for key in keys]
    out += ["", "## Variables", "", "| variable | of | |", "|---|---|---|"]
    out += [row(f"`{name}`", *VARIABLES[name]) for name in VARIABLES if name in reader.variables]
    return out
