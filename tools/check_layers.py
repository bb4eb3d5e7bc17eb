#!/usr/bin/env python3
"""Checks every #include against the layer table below (LAYERS): includes go down only.

For each file of src/, fuzz/, bench/, test/world/, test/sim/, test/conformance/, test/dra/ and test/filters/ it checks
  - which folders of ours it may include,
  - which third-party headers it may include, and the heavy ones in one .cc only,
  - what of the standard library its folder may not use (threads, clocks, random devices, streams),
  - that it knows no convention by which pods ask for GPUs, but where DIALECTS says so (docs/inside/front-doors.md),
  - that it is not longer than 600 lines (tests may be), a main than 120,
  - that no line with a comment is longer than 110 columns: the formatter breaks code there, and leaves comments.
Prints file:line, the rule and the fix; exits 1 when anything was found.
`--dot` prints the picture of the table, which docs/make-pictures makes into docs/inside/layers.svg; the check fails when it is old.
`--self-test` plants one violation per rule in a temporary tree and fails unless each one is found.
"""

import argparse
import pathlib
import re
import sys
import tempfile

# ---- The table. folder, or a room of it: (folders, rooms or headers it may include, third-party groups it may include, what of
# std it may not use). A room that has a row of its own is a folder to the others.
PURE = ["threads", "clock", "random", "streams"]
TABLES = ["threads", "clock", "random", "files"]  # as pure, and reads tables in its own text by string streams
LAYERS = {
    "base":      ("",                                                             "fmt expected",  []),
    "model":     ("base",                                                         "fmt expected",  PURE),
    "json":      ("base",                                                         "fmt expected",  PURE),
    "yaml":      ("base",                                                         "fmt expected",  PURE),
    "pattern":   ("base",                                                         "fmt expected",  PURE),
    "signature": ("json base",                                                    "fmt expected openssl sodium",  PURE),
    "net":       ("base",                                                         "fmt expected curl openssl asio", []),
    "sched/request":   ("model base",                                             "fmt expected",  PURE),
    "sched/policy":    ("sched/request model base",                               "fmt expected",  PURE),
    "sched/doors":     ("sched/policy sched/request model base",                  "fmt expected",  PURE),
    "sched/ledger":    ("sched/doors sched/policy sched/request model base",      "fmt expected",  PURE),
    "sched/volumes":   ("sched/ledger sched/doors sched/policy sched/request model base", "fmt expected",  PURE),
    "sched/near":      ("sched/ledger sched/doors sched/policy sched/request model base", "fmt expected",  PURE),
    "sched/filters":   ("sched/ledger sched/doors sched/policy sched/request model base", "fmt expected",  PURE),
    "sched/placement": ("sched/filters sched/ledger sched/doors sched/policy sched/request model base", "fmt expected",  PURE),
    "sched/preemption": ("sched/placement sched/near sched/filters sched/ledger sched/doors sched/policy sched/request model base", "fmt expected",  PURE),
    "kapi":      ("json model base",                                              "fmt expected",  PURE),
    "cel":       ("pattern kapi/quantity.h json model base",                      "fmt expected",  PURE),
    "controller": ("kapi json model base",                                        "fmt expected",  PURE),
    "runner":    ("kapi base",                                                    "fmt expected",  PURE),
    "k8s":       ("runner controller kapi json yaml net model base",              "fmt expected",  ["random", "clock"]),
    "apiserver/meta":     ("json base",                                           "fmt expected",  PURE),
    "apiserver/wire":     ("apiserver/meta json yaml base",                       "fmt expected",  TABLES),
    "apiserver/schema":   ("apiserver/meta pattern kapi/time.h kapi/quantity.h json base", "fmt expected", TABLES),
    "apiserver/patch":    ("apiserver/schema apiserver/meta json base",           "fmt expected",  PURE),
    "apiserver/registry": ("apiserver/schema apiserver/meta apiserver/wire kapi/time.h kapi/quantity.h json base", "fmt expected", TABLES),
    "apiserver/storage":  ("apiserver/registry apiserver/patch apiserver/meta json base", "fmt expected",  PURE),
    "apiserver/lifecycle": ("apiserver/storage apiserver/registry kapi/time.h json base", "fmt expected",  PURE),
    "apiserver/present":  ("apiserver/registry apiserver/schema apiserver/meta apiserver/wire kapi/time.h json base", "fmt expected", PURE),
    "apiserver/admission": ("apiserver/storage apiserver/registry apiserver/meta json base", "fmt expected",  PURE),
    "apiserver/webhooks": ("apiserver/admission apiserver/storage apiserver/patch apiserver/registry apiserver/meta json base", "fmt expected",  PURE),
    "apiserver/handlers": ("apiserver/admission apiserver/lifecycle apiserver/storage apiserver/patch apiserver/registry apiserver/schema apiserver/meta kapi/time.h "
                           "json base", "fmt expected",  PURE),
    "dra":       ("model base",                                                   "fmt expected",  PURE),
    "dra/file":  ("dra json model base",                                          "fmt expected",  PURE),
    "dra/claims": ("cel dra model base",                                          "fmt expected",  PURE),
    "engine":    ("dra/claims dra sched controller model kapi base",                                        "fmt expected",  PURE),
    "scheduler/core":    ("dra engine sched controller model kapi base",          "fmt expected",  PURE),
    "scheduler/caches":  ("kcache/kinds scheduler/core engine sched controller model kapi json base", "fmt expected",  PURE),
    "scheduler/term":    ("scheduler/core engine sched controller model kapi json base", "fmt expected",  PURE),
    "scheduler/report":  ("scheduler/core engine sched controller model kapi json base", "fmt expected",  PURE),
    "scheduler/leases":  ("scheduler/term scheduler/core dra engine sched controller model kapi json base", "fmt expected",  PURE),
    "scheduler/volumes": ("scheduler/core engine sched controller model kapi base",  "fmt expected",  PURE),
    "scheduler/preempt": ("scheduler/core engine sched controller model kapi base",  "fmt expected",  PURE),
    "scheduler/pending": ("scheduler/report scheduler/caches scheduler/core engine sched controller model kapi json base", "fmt expected",  PURE),
    "scheduler/placing": ("scheduler/volumes scheduler/preempt scheduler/pending scheduler/leases scheduler/term scheduler/report scheduler/caches scheduler/core dra engine sched controller model kapi json base",
                          "fmt expected",  PURE),
    "scheduler": ("scheduler/placing scheduler/volumes scheduler/preempt scheduler/pending scheduler/leases scheduler/term scheduler/report scheduler/caches scheduler/core engine sched controller model "
                  "kapi json net/http_types.h base", "fmt expected",  PURE),
    "extender/protocol": ("engine sched controller model kapi json net/http_types.h base", "fmt expected",  PURE),
    "extender/grants":   ("extender/protocol engine sched controller model kapi base", "fmt expected",  PURE),
    "extender":  ("extender/grants extender/protocol engine sched controller model kapi json net/http_types.h base", "fmt expected",  PURE),
    "admission": ("controller kapi json net/http_types.h model base",              "fmt expected",  PURE),
    "webhook":   ("admission controller kapi json net/http_types.h model base",    "fmt expected",  PURE),
    "crds":      ("json yaml model/claim.h base",                                 "fmt expected",  PURE),
    "rpc/ttrpc": ("base",                                                         "fmt expected grpc",  PURE),
    "rpc/nri":   ("rpc/ttrpc base",                                               "fmt expected grpc",  PURE),
    "rpc":       ("base",                                                         "fmt expected grpc",  []),
    "enforce/cdi": ("rpc/nri/messages.h json yaml base",                          "fmt expected",  PURE),
    "enforce":   ("enforce/cdi rpc/nri/messages.h model base",                    "fmt expected",  PURE),
    "agent/enforced": ("enforce controller kapi json model base",                 "fmt expected",  PURE),
    "agent":     ("agent/enforced enforce controller kapi json model base",       "fmt expected",  PURE),
    "noderim":   ("enforce/cdi rpc kcache/content agent kapi json yaml net/socket.h model base", "fmt expected",  ["random"]),
    "kcache/image": ("json base",                                                 "fmt expected",  PURE),
    "kcache/content": ("kcache/image json base",                                  "fmt expected",  PURE),
    "kcache/layer": ("kcache/content kcache/image base",                          "fmt expected",  PURE),
    "kcache/kinds": ("kcache/image kapi json model base",                         "fmt expected",  PURE),
    "kcache/node": ("kcache/kinds kcache/content kcache/image model base",         "fmt expected",  PURE),
    "operator/trust": ("controller kapi json model base",                         "fmt expected",  PURE),
    "operator/node": ("operator kcache controller kapi json model base",          "fmt expected",  PURE),
    "kcache/trust": ("kcache/image pattern kapi/time.h json base",                "fmt expected",  PURE),
    "operator/admission": ("admission kcache/image kcache/kinds controller kapi json net/http_types.h model base", "fmt expected",  PURE),
    "operator":  ("kcache controller kapi json model base",                       "fmt expected",  PURE),
    "cacherim": ("kcache signature net json kapi/retry_wait.h kapi/time.h base", "fmt expected archive",  ["random", "clock"]),
    "mcv": ("cacherim kcache signature noderim agent net json base", "fmt expected",  ["random", "clock"]),
    "csi/kubelet": ("rpc net base",                                               "fmt expected",  ["random", "clock"]),
    "csi/gate":  ("csi/kubelet rpc net model base",                               "fmt expected",  ["random", "clock"]),
    "csi":       ("csi/kubelet cacherim kcache rpc net base",                     "fmt expected",  ["random", "clock"]),
    "check":     ("base",                                                         "fmt expected",  PURE),
    "process":   ("k8s controller kapi net model base",                                      "fmt expected cli11", []),
    "serve/extender": ("extender sched model process k8s kapi net base",          "fmt expected",  ["random", "clock"]),
    "serve/admission": ("admission process net base",                             "fmt expected",  ["random", "clock"]),
    "serve/webhook": ("serve/admission webhook admission process k8s kapi net model base",                 "fmt expected",  ["random", "clock"]),
    "serve/crds": ("crds process k8s kapi json model base",                       "fmt expected",  ["random", "clock"]),
    "serve/agent": ("csi/gate csi/kubelet rpc/nri rpc noderim enforce/cdi enforce agent/enforced agent process k8s kapi json model base",                  "fmt expected",  ["random", "clock"]),
    "serve/operator": ("serve/trust operator controller process k8s net base serve/admission admission cacherim kcache kapi model", "fmt expected",  ["random", "clock"]),
    "serve/trust": ("cacherim kcache yaml json model base",                       "fmt expected",  ["random", "clock"]),
    "serve/node": ("serve/trust operator controller cacherim kcache noderim agent process k8s kapi model base", "fmt expected", ["random", "clock"]),
    "serve/csi": ("csi csi/kubelet cacherim rpc process k8s kapi net base",                   "fmt expected",  ["random", "clock"]),
    "serve/scheduler": ("dra/file dra yaml json model base",                      "fmt expected",  ["random", "clock"]),
    "serve/combined": ("serve/extender scheduler extender engine sched controller model process k8s kapi json net base", "fmt expected", ["random", "clock"]),
    "sandbox/node":  ("agent apiserver crds kapi json model base",                          "fmt expected",  PURE),
    "sandbox/controllers": ("apiserver kapi json model base",                     "fmt expected",  PURE),
    "sandbox/world": ("runner crds sandbox/node sandbox/controllers apiserver agent enforce webhook scheduler extender engine sched controller kapi json yaml model base", "fmt expected", PURE),
    "sandbox/caches": ("sandbox/world sandbox/node operator kcache controller kapi json yaml model base", "fmt expected", PURE),
    "sandbox/serve": ("sandbox/node sandbox/world apiserver kapi json yaml net model base", "fmt expected", ["random", "clock"]),
    "testing":   ("model kapi base",                                              "fmt expected",  PURE),
    "apps":      ("*",                                                            "fmt expected",  []),
}
ROOMY = {row.split("/")[0] for row in LAYERS if "/" in row}  # folders of rooms; one with a row of its own has files on top of them too
MAX_LINES = 600
MAX_MAIN = 120
MAX_COLUMNS = 110
ANYTHING = ("fuzz", "bench", "test/world", "test/sim", "test/conformance", "test/dra", "test/filters")  # may include every folder; no std rules

# Included from one file only: these cost seconds per file that sees them, or must stay behind one header of ours.
ONE_FILE = {
    "spdlog": "src/base/log.cc",
    "prometheus": "src/base/metrics.cc",
    "boost-json": "src/json/read_exact.cc",
    "re2": "src/pattern/pattern.cc",
}
# Included from one folder only, or from the files named besides it.
ONE_FOLDER = {"simdjson": "src/json", "yaml-cpp": "src/yaml", "curl": "src/net", "asio": "src/net", "openssl": "src/net src/signature src/base/hash.cc src/base/secret.cc", "cli11": "src/process", "grpc": "src/rpc", "archive": "src/cacherim", "sodium": "src/signature"}

# Which group a header belongs to: the first pattern that matches. Unknown third-party headers are refused.
GROUPS = [
    ("fmt", r"fmt/"),
    ("expected", r"tl/expected"),
    ("spdlog", r"spdlog/"),
    ("prometheus", r"prometheus/"),
    ("boost-json", r"boost/json"),
    ("simdjson", r"simdjson"),
    ("asio", r"boost/(asio|beast|system)"),
    ("yaml-cpp", r"yaml-cpp/"),
    ("curl", r"curl/"),
    ("openssl", r"openssl/"),
    ("re2", r"re2/"),
    ("sodium", r"sodium\.h"),
    ("cli11", r"CLI/"),
    ("archive", r"archive(_entry)?\.h"),
    ("grpc", r"(grpcpp/|google/protobuf/|(cri|csi|pluginregistration|nri/nri|ttrpc/ttrpc)\.(grpc\.)?pb\.h)"),
    ("test", r"(gtest|rapidcheck)"),
    ("gmock", r"gmock/"),
    ("bench", r"benchmark/"),
]

# A convention by which pods ask for GPUs: its words, outside of comments, and who may use them besides its door in sched/doors/ and
# its grammar in model/. Those are the component that answers in it, the simulated program of a node that reads it, and tests.
DIALECTS = {
    "vcuda": (r"[vV]cuda|tencent\.com/(?:vcuda|predicate|gpu-assigned)", "extender/ sandbox/node/gpu_manager"),
    "devices by id": (r"\bk(?:Allocated|VisibleDevices|Reservation)Key\b|\bkPlainDoor\b|"
                      r"gpu\.scheduling/(?:allocated|visible-devices|reservation)\b",
                      "scheduler/ webhook/pod_mutation enforce/ agent/enforced/ agent/users apps/gpu_scheduler_main.cc sandbox/node/kubelet.cc sandbox/serve/demo.cc"),
    "claim": (r"\bkClaim(?:Key|Door)\b|gpu\.scheduling/claim\b", "webhook/pod_mutation"),
    "map": (r"\bkMap(?:Key|Door)\b|gpu-scheduling-map", "webhook/pod_mutation"),
}
KNOWS_DIALECTS = "sched/doors/ model/ testing/"

# What of the standard library a rule name stands for: headers, and words in the code.
STD_RULES = {
    "threads": (r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|atomic|pthread\.h)",
                r"\bstd::(jthread|thread|mutex|async|atomic)\b|\bsleep_(for|until)\b",
                "this folder has no threads: pass values, or move the code to k8s/ or net/"),
    "clock":   (r"(ctime|time\.h|sys/time\.h)",
                r"_clock::now\s*\(|\b(clock_gettime|gettimeofday)\s*\(|\bstd::time\s*\(|[^:\w.>]time\s*\(\s*(NULL|nullptr|0)\s*\)",
                "this folder reads no clock: take gs::Now as an argument"),
    "random":  (r"(random|stdlib\.h)", r"\bstd::random_device\b|\bs?rand\s*\(|\bstd::mt19937",
                "randomness is a gs::Rng (base/random.h) given by the caller; seeds are drawn in apps"),
    "files":   (r"(iostream|fstream|ostream|istream|cstdio|stdio\.h)", r"\b(std::)?(cout|cerr|printf|fprintf|ifstream|ofstream)\b",
                "this folder does no I/O: return the text"),
    "streams": (r"(iostream|fstream|ostream|istream|sstream|cstdio|stdio\.h)", r"\b(std::)?(cout|cerr|printf|fprintf)\b",
                "this folder does no I/O: return the text, or give a log effect"),
}
BANNED_EVERYWHERE = {
    "regex": "std::regex is slow to compile and to run, and overflows the stack on long input: write the few lines; what comes from "
             "outside is a Pattern (pattern/pattern.h)",
    "bits/stdc++.h": "include what is used",
}
SYSTEM_OK = {"base", "net", "k8s", "noderim", "cacherim", "rpc", "csi", "sandbox", "process", "apps"}  # may use POSIX headers such as <unistd.h>
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)


def row_of(path):
    """The row for a path below src/."""
    parts = path.split("/")
    in_room = parts[0] in ROOMY and (parts[0] not in LAYERS or len(parts) > 2)
    return "/".join(parts[:2]) if in_room else parts[0]


def below(row):
    """All rows that this one may include, itself and through others."""
    allowed = LAYERS[row][0].split()
    rows = [one for one in LAYERS if one not in (row, "apps", "testing")
            and any(a == "*" or a == one or one.startswith(a + "/") for a in allowed)]
    return set(rows)


def picture():
    """The table for dot. An arrow that two others say already is left out."""
    rows = [row for row in LAYERS if row not in ("base", "testing")]
    out = ["// The layers: an arrow means `may include`; what follows from others is left out, and base, which all may include.",
           "// Made by docs/make-pictures from the table in tools/check_layers.py.",
           "digraph layers {",
           '  rankdir=TB; node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", fontsize=11];',
           '  edge [color=gray40]; graph [fontname="Helvetica", fontsize=11, color=gray70, style=rounded];']
    for folder in dict.fromkeys(row.split("/")[0] for row in rows):
        rooms = [row for row in rows if row.split("/")[0] == folder]
        pure = '' if "threads" in LAYERS[rooms[0]][2] else ', fillcolor=gray90'
        if rooms == [folder]:
            out.append(f'  "{folder}" [label="{folder}"{pure}];')
            continue
        out.append(f'  subgraph "cluster_{folder}" {{ label="{folder}";')
        for room in rooms:
            pure = '' if "threads" in LAYERS[room][2] else ', fillcolor=gray90'
            out.append(f'    "{room}" [label="{room.split("/")[-1]}"{pure}];')
        out.append("  }")
    for row in rows:
        direct = below(row) - {"base"}
        through = set().union(*(below(one) for one in direct)) if direct else set()
        for one in sorted(direct - through):
            out.append(f'  "{row}" -> "{one}";')
    return "\n".join(out + ["}"]) + "\n"


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.found = []

    def report(self, path, line, rule, fix):
        self.found.append(f"{path}:{line}: {rule}\n    fix: {fix}")

    def run(self):
        src = self.root / "src"
        folders = sorted(p for p in src.iterdir() if p.is_dir()) if src.is_dir() else []
        for folder in [f"{p.name}/{room.name}" for p in folders if p.name in ROOMY
                       for room in sorted(p.iterdir()) if room.is_dir() or p.name not in LAYERS] + \
                [p.name for p in folders if p.name not in ROOMY]:
            if folder not in LAYERS:
                self.report(f"src/{folder}", 0, "this folder is not in the layer table",
                            "add it to LAYERS in tools/check_layers.py, to CMakeLists.txt and to docs/inside/architecture.md, and run docs/make-pictures")
        drawn = self.root / "docs/inside/layers.dot"
        if drawn.is_file() and drawn.read_text() != picture():
            self.report("docs/inside/layers.dot", 1, "not the picture of LAYERS in tools/check_layers.py", "run docs/make-pictures")
        for top in ("src", *ANYTHING):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in (".h", ".cc") and path.is_file():
                    self.check_file(path.relative_to(self.root).as_posix(), path.read_text(errors="replace"))
        return self.found

    def check_file(self, name, text):
        parts = name.split("/")
        folder = row_of("/".join(parts[1:])) if parts[0] == "src" else None
        if folder is not None and folder not in LAYERS:
            return
        is_test = name.endswith(("_test.cc", "_test.h")) or folder is None or folder == "testing"
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                self.check_include(name, number, folder, is_test, match.group(1) == '"', match.group(2))
        if folder is not None and not name.endswith(("_test.cc", "_test.h")):
            self.check_words(name, folder, text)
            self.check_dialects(name, text)
        lines = text.count("\n")
        most = MAX_MAIN if folder == "apps" else MAX_LINES
        if folder is not None and not name.endswith(("_test.cc", "_test.h")) and lines > most:
            fix = "a main names types and wires them: move the rest to where it can be tested" if folder == "apps" else "split it by concept"
            self.report(name, lines, f"a file of {lines} lines; at most {most}", fix)
        if name.endswith(".h") and "#pragma once" not in text:
            self.report(name, 1, "a header without #pragma once", "add it below the header comment")
        self.check_comments(name, text)

    def check_comments(self, name, text):
        lines = text.split("\n")
        for match in COMMENT_OR_STRING.finditer(text):
            number = text.count("\n", 0, match.start())
            if match.group(0).startswith("//") and len(lines[number]) > MAX_COLUMNS:
                self.report(name, number + 1, f"a comment line of {len(lines[number])} columns; at most {MAX_COLUMNS}",
                            "break it; a comment beside code goes above it")

    def check_include(self, name, line, folder, is_test, ours, header):
        if ours:
            self.check_ours(name, line, folder, is_test, header)
            return
        group = next((g for g, pattern in GROUPS if re.match(pattern, header)), None)
        if group is not None:
            self.check_third_party(name, line, folder, is_test, group, header)
        elif header in BANNED_EVERYWHERE:
            self.report(name, line, f"<{header}> is banned", BANNED_EVERYWHERE[header])
        elif folder is not None and not name.endswith(("_test.cc", "_test.h")):
            for rule in LAYERS[folder][2]:
                headers, _, fix = STD_RULES[rule]
                if re.fullmatch(headers, header):
                    self.report(name, line, f"src/{folder} may not include <{header}>", fix)
                    return
            if ("/" in header or header.endswith(".h")) and folder.split("/")[0] not in SYSTEM_OK:
                self.report(name, line, f"src/{folder} may not include the system header <{header}>",
                            f"only {', '.join(sorted(SYSTEM_OK))} talk to the operating system")

    def check_ours(self, name, line, folder, is_test, header):
        if folder is None:
            return
        target = row_of(header)
        if "/" not in header or (target not in LAYERS):
            self.report(name, line, f'"{header}" is not a path below src/', 'write #include "<folder>/<file>.h"')
        elif target == "apps":
            self.report(name, line, "nobody may include apps/", "apps are mains; move what is shared into a folder")
        elif target == "testing" and folder != "testing":
            if not is_test:
                self.report(name, line, "testing/ is for tests", "include it from _test.cc, fuzz/, bench/, test/ only")
        elif target != folder:
            if is_test and target.split("/")[0] == folder.split("/")[0]:
                return  # a test may set up its room with those above it
            allowed = LAYERS[folder][0].split()
            if not any(one in ("*", header) or target == one or target.startswith(one + "/") for one in allowed):
                self.report(name, line, f'src/{folder} may not include "{header}"; it may include: '
                            + (", ".join(allowed) or "nothing of ours"),
                            "includes go down only: move the code to the layer that may see both, or pass a value in")

    def check_third_party(self, name, line, folder, is_test, group, header):
        if group == "gmock":
            self.report(name, line, "<gmock/...> is not used here", "write a fake")
        elif group == "test":
            if not is_test:
                self.report(name, line, f"<{header}> outside of a test", "include it from _test.cc files only")
        elif group == "bench":
            if not name.startswith("bench/"):
                self.report(name, line, f"<{header}> outside of bench/", "move the benchmark to bench/")
        elif group in ONE_FILE:
            if name != ONE_FILE[group]:
                self.report(name, line, f"<{header}> outside of {ONE_FILE[group]}",
                            "use the header of ours that stands before this library")
        elif group in ONE_FOLDER:
            homes = ONE_FOLDER[group].split()
            if not any(name == home or name.startswith(home + "/") for home in homes):
                self.report(name, line, f"<{header}> outside of {' and '.join(home if home.endswith('.cc') else home + '/' for home in homes)}",
                            "use the header of ours that stands before this library")
            elif name.endswith(".h"):
                self.report(name, line, f"<{header}> in a header", "keep it in the .cc (pimpl), so that users of this "
                            "header do not compile the library")
        elif folder is not None and group not in LAYERS[folder][1].split():
            self.report(name, line, f"src/{folder} may not include <{header}>",
                        "see LAYERS in tools/check_layers.py")

    def check_words(self, name, folder, text):
        code = COMMENT_OR_STRING.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        for rule in LAYERS[folder][2]:
            _, words, fix = STD_RULES[rule]
            for match in re.finditer(words, code):
                self.report(name, code.count("\n", 0, match.start()) + 1,
                            f"src/{folder} may not use {match.group(0).strip()}", fix)

    def check_dialects(self, name, text):
        path = name.removeprefix("src/")
        if path.split("/")[-1].startswith("test_"):
            return
        code = COMMENT_OR_STRING.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text)
        for dialect, (words, homes) in DIALECTS.items():
            match = re.search(words, code)
            if match and not path.startswith(tuple(f"{KNOWS_DIALECTS} {homes}".split())):
                self.report(name, code.count("\n", 0, match.start()) + 1, f'"{match[0]}": only its door knows the convention {dialect}',
                            "ask the table of doors (sched/doors/door.h), or let the door say more; docs/inside/front-doors.md")


# ---- Self-test: file, content, what the report must contain; None: must be clean.
PLANTS = [
    ("src/base/a.h", '#pragma once\n#include "model/ids.h"\n', 'src/base may not include "model/ids.h"'),
    ("src/sched/ledger/a.cc", '#include "kapi/decode.h"\n', 'src/sched/ledger may not include "kapi/decode.h"'),
    ("src/scheduler/a.cc", '#include "net/http_server.h"\n', 'src/scheduler may not include "net/http_server.h"'),
    ("src/kapi/a.cc", '#include "sched/ledger/ledger.h"\n', 'src/kapi may not include "sched/ledger/ledger.h"'),
    ("src/k8s/a.cc", '#include "engine/engine.h"\n', 'src/k8s may not include "engine/engine.h"'),
    ("src/sandbox/serve/a.cc", '#include "k8s/client.h"\n', 'src/sandbox/serve may not include "k8s/client.h"'),
    ("src/apiserver/meta/a.cc", '#include "apiserver/storage/store.h"\n', 'src/apiserver/meta may not include "apiserver/storage'),
    ("src/sandbox/node/a.cc", '#include "sandbox/world/world.h"\n', 'src/sandbox/node may not include "sandbox/world/world.h"'),
    ("src/sandbox/world/a.cc", "#include <thread>\n", "may not include <thread>"),
    ("docs/inside/layers.dot", "digraph layers {}", "not the picture of LAYERS"),
    ("src/sandbox/attic/a.cc", "", "this folder is not in the layer table"),
    ("src/engine/a.cc", '#include "testing/builders.h"\n', "testing/ is for tests"),
    ("src/net/a.cc", '#include "apps/x.h"\n', "nobody may include apps/"),
    ("src/model/a.cc", '#include "ids.h"\n', '"ids.h" is not a path below src/'),
    ("src/sched/ledger/b.cc", "#include <thread>\n", "may not include <thread>"),
    ("src/sched/ledger/c.cc", "#include <mutex>\n", "may not include <mutex>"),
    ("src/model/b.cc", "#include <iostream>\n", "may not include <iostream>"),
    ("src/model/c.cc", "#include <fstream>\n", "may not include <fstream>"),
    ("src/model/d.cc", "#include <random>\n", "may not include <random>"),
    ("src/sched/ledger/d.cc", "auto t = std::chrono::steady_clock::now();\n", "may not use _clock::now("),
    ("src/kapi/b.cc", "int x = 1;\nauto t = std::time(nullptr);\n", "src/kapi/b.cc:2: src/kapi may not use std::time("),
    ("src/engine/b.cc", "std::mt19937 g;\n", "may not use std::mt19937"),
    ("src/scheduler/b.cc", "std::this_thread::sleep_for(x);\n", "may not use sleep_for"),
    ("src/sched/ledger/e.cc", "#include <unistd.h>\n", "may not include the system header <unistd.h>"),
    ("src/apps/a.cc", "#include <regex>\n", "<regex> is banned"),
    ("src/base/b.cc", "#include <spdlog/spdlog.h>\n", "outside of src/base/log.cc"),
    ("src/base/c.cc", "#include <prometheus/registry.h>\n", "outside of src/base/metrics.cc"),
    ("src/kapi/c.cc", "#include <boost/json.hpp>\n", "outside of src/json/read_exact.cc"),
    ("src/sandbox/world/b.cc", "#include <yaml-cpp/yaml.h>\n", "outside of src/yaml/"),
    ("src/apiserver/schema/a.cc", "#include <re2/re2.h>\n", "outside of src/pattern/pattern.cc"),
    ("src/k8s/b.cc", "#include <curl/curl.h>\n", "outside of src/net/"),
    ("src/k8s/c.cc", "#include <boost/asio.hpp>\n", "outside of src/net/"),
    ("src/net/a.h", "#pragma once\n#include <boost/beast.hpp>\n", "in a header"),
    ("src/base/d.cc", "#include <openssl/evp.h>\n", "outside of src/net/ and src/signature/ and src/base/hash.cc"),
    ("src/base/hash.cc", "#include <openssl/evp.h>\n", None),
    ("src/scheduler/c.cc", "#include <CLI/CLI.hpp>\n", "outside of src/process/"),
    ("src/sched/ledger/f.cc", "#include <gtest/gtest.h>\n", "outside of a test"),
    ("src/sched/ledger/f_test.cc", "#include <gmock/gmock.h>\n", "write a fake"),
    ("src/sched/ledger/g_test.cc", "#include <benchmark/benchmark.h>\n", "outside of bench/"),
    ("src/utils/a.cc", "", "this folder is not in the layer table"),
    ("src/sched/ledger/h.h", "int f();\n", "a header without #pragma once"),
    ("test/conformance/h.h", "int f();\n", "a header without #pragma once"),
    ("src/sched/ledger/long.cc", "\n" * 601, "a file of 601 lines"),
    ("src/apps/long_main.cc", "\n" * 121, "a file of 121 lines; at most 120"),
    ("src/apps/cli_main.cc", "#include <CLI/CLI.hpp>\n", "outside of src/process/"),
    ("src/process/a.cc", '#include "extender/protocol/wire.h"\n', 'src/process may not include "extender/protocol/wire.h"'),
    ("src/sandbox/serve/c.cc", "auto t = std::chrono::system_clock::now();\n", "may not use _clock::now("),
    ("src/sched/ledger/wide.cc", "int f();\n/// " + "x" * 107 + "\n", "src/sched/ledger/wide.cc:2: a comment line of 111 columns; at most 110"),
    ("src/sched/ledger/wide.h", "#pragma once\nint f();  // " + "x" * 98 + "\n", "a comment line of 111 columns"),
    ("test/world/wide_test.cc", "// " + "x" * 108 + "\n", "a comment line of 111 columns"),
    ("src/sched/ledger/narrow.cc", "// " + "x" * 106 + "\u2192\n", None),
    ("src/sched/ledger/text.cc", 'auto a = R"(\n// ' + "x" * 120 + '\n)";\nauto b = "https://' + "x" * 120 + '";\n', None),
    ("src/engine/d.cc", "\nauto picks = sched::vcudaPicks(pod);\n", 'src/engine/d.cc:2: "vcuda": only its door knows'),
    ("src/scheduler/d.cc", '#include "sched/doors/vcuda.h"\n', "only its door knows the convention vcuda"),
    ("src/engine/e.cc", 'auto x = pod.annotation("gpu.scheduling/visible-devices");\n', "the convention devices by id"),
    ("src/engine/f.cc", "auto x = pod.annotation(model::kClaimKey);\n", "the convention claim"),
    ("src/kapi/d.cc", 'bool x = key == "gpu-scheduling-map";\n', "the convention map"),
    ("src/engine/ok.cc", "// vcuda shares\nauto x = sched::claimName(pod);\n", None),
    ("src/engine/ok_test.cc", "auto x = model::kClaimKey;\n", None),
    ("src/scheduler/ok2.cc", "auto x = model::kAllocatedKey;\n", None),
    ("src/extender/ok.cc", '#include "sched/doors/vcuda.h"\n', None),
    ("src/sched/ledger/ok.cc", '#include <fmt/core.h>\n#include <vector>\n#include "base/check.h"\n#include "model/ids.h"\n'
                        '#include "sched/ledger/ok.h"\n// std::thread, steady_clock::now()\nauto s = "std::cout";\n', None),
    ("src/sched/ledger/ok_test.cc", '#include <gtest/gtest.h>\n#include <thread>\n#include "testing/builders.h"\n', None),
    ("src/scheduler/ok.cc", '#include "net/http_types.h"\n', None),
    ("src/sandbox/world/ok.cc", '#include "apiserver/meta/answer.h"\n#include "sandbox/node/kubelet.h"\n', None),
    ("test/world/ok_test.cc", '#include "k8s/client.h"\n#include <thread>\n', None),
    ("bench/ok_bench.cc", '#include <benchmark/benchmark.h>\n#include "sched/ledger/ledger.h"\n', None),
]


def self_test():
    failures = []
    for name, content, expected in PLANTS:
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True)
            path.write_text(content)
            found = Checker(root).run()
            if expected is None and found:
                failures.append(f"{name}: expected nothing, found {found}")
            if expected is not None and (len(found) != 1 or expected not in found[0]):
                failures.append(f"{name}: expected one finding with '{expected}', found {found}")
    for failure in failures:
        print(failure)
    print(f"layer check self-test: {len(PLANTS) - len(failures)} of {len(PLANTS)} plants answered rightly")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="plant violations and see each one found")
    parser.add_argument("--dot", action="store_true", help="print the picture of the table")
    args = parser.parse_args()
    if args.dot:
        print(picture(), end="")
        return 0
    if args.self_test:
        return self_test()
    found = Checker(pathlib.Path(__file__).resolve().parent.parent).run()
    for finding in found:
        print(finding)
    print(f"layer check: {len(found)} finding(s)" if found else "layer check: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
