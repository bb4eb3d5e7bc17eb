"""docs/reference/conditions.md: conditions of objects, their reasons, and the phases of a GpuClaim.

Types, reasons and sentences are taken from where they are written; what one means from the comment beside its constant or
its enumerator.
"""

import re

from reference.cpp import text_of
from reference.events import Reader as Texts
from reference.page import row

# Files that write conditions; what each writes is on the page.
WRITERS = {"src/agent/status.cc", "src/kapi/write.cc", "src/kcache/kinds/print.cc", "src/kapi/node_file.cc"}
NOT_READ = ("src/sandbox/", "src/apiserver/")
WRITES = re.compile(r"(?:set|child)\(\"conditions\"|\{\"conditions\",")
# Kinds of what pods are told: of PendingPods::tell(), and of Blocked.
KINDS = (r'\btell\(\*?\w+, \{\s*"(\w+)"', r'\btold_as = [^;"]*"(\w+)"(?: : "(\w+)")?', r'\bBlocked\{\s*"(\w+)', r'return \{\s*"([A-Z]\w+)",', r'return \{fmt::format\("([A-Z]\w+):\{\}"',
         r'\{\w+ \? "([A-Z]\w+)" : "([A-Z]\w+)",')
ENUMERATOR = re.compile(r"^ +(\w+),? *(?:// (.*))?$", re.M)


class Reader:
    def __init__(self, sources, report):
        self.sources, self.report = sources, report

    def text(self, name):
        file = self.sources.named(name)
        if not file:
            self.report(f"{name}:1", "the file is gone", "mend tools/reference/conditions.py")
        return file

    def check_writers(self):
        for file in self.sources.files:
            if '"conditions"' not in file.text or file.name.startswith(NOT_READ) or file.name in WRITERS:
                continue
            for write in WRITES.finditer(file.text):
                self.report(file.place(write.start()), "conditions that the page does not know",
                            "have tools/reference/conditions.py read them, and add the file to WRITERS")

    # ---- GpuNodeStatus

    def of_agent(self):
        """conditions_.set(type, status, reason, message, now)."""
        rows = []
        file = self.text("src/agent/agent.cc")
        for call in re.finditer(r"\bconditions_\.set\(", file.bare if file else ""):
            said = [file.said(span) for span in file.arguments(call.end() - 1)]
            kind = self.sources.constant(file, said[0])
            reasons = self.reasons(file, call.start(), said[2])
            if kind is None or not reasons:
                self.report(file.place(call.start()), "a condition that cannot be read", "give a constant, and a text as reason")
                continue
            if not kind.comment:
                self.report(kind.file.place(kind.at), f"nothing says what the condition {kind.value} means", "write a comment beside it")
            message = Texts(self.sources, self.report).render(file, call.start(), said[3], {})
            rows += [(kind.value, said[1] == "true", reason, message, kind.comment) for reason in reasons]
        if file and not rows:
            self.report("src/agent/agent.cc:1", "sets no condition that can be read", "mend tools/reference/conditions.py")
        rows.sort(key=lambda one: (one[0], not one[1]))
        before = [None, *(one[0] for one in rows)]
        return [(*one[:4], "" if kind == one[0] else one[4]) for one, kind in zip(rows, before)]

    def reasons(self, file, at, said):
        """A text; or what a function of this file names them."""
        text = text_of(said)
        if text is not None:
            return [text]
        named = re.search(r"nameOf\(Fault::Kind \w+\) \{", file.bare)
        return re.findall(r'return "(\w+)"', file.code[named.end():file.closing(named.end() - 1)]) if named and "nameOf" in said else []

    # ---- caches

    def enumerators(self, name, enum):
        """(name, comment) of each."""
        file = self.text(name)
        found = re.search(rf"enum class {enum}\b[^{{]*\{{", file.text) if file else None
        body = file.text[found.end():file.closing(found.end() - 1)] if found else ""
        out = ENUMERATOR.findall(body)
        for one, comment in out:
            if not comment:
                self.report(file.place(found.start()), f"nothing says what {enum}::{one} means", "write a comment beside it")
        return out

    def of_caches(self):
        file = self.text("src/kcache/kinds/state.cc")
        words = re.findall(r'Words\{"(\w+)",\s*"([^"]*)"\}', file.code) if file else []
        states = self.enumerators("src/kcache/kinds/state.h", "State")
        if [name for name, _ in words] != [name for name, _ in states]:
            self.report("src/kcache/kinds/state.cc:1", "its words are not those of State", "give each state its words, in order")
        return [(name, sentence, comment) for (name, sentence), (_, comment) in zip(words, states)]

    def of_claims(self):
        file = self.text("src/operator/claim_status.cc")
        found = re.search(r"kReasons\{([^}]*)\}", file.code) if file else None
        reasons = re.findall(r'"(\w+)"', found.group(1)) if found else []
        states = self.enumerators("src/operator/volume_plan.h", "ClaimState")
        if len(reasons) != len(states):
            self.report("src/operator/claim_status.cc:1", "its reasons are not as many as ClaimStates", "give each state a reason")
        out = [("ClaimsReady", reason == "Bound", reason, comment) for reason, (_, comment) in zip(reasons, states)]
        unused = re.search(r'FieldsUnused,\s*\.is_true = true,\s*\.reason = "(\w+)",\s*\.message =', file.code) if file else None
        if unused:
            out.append(("FieldsUnused", True, unused.group(1), "`spec` has fields that mean nothing here; the message names them"))
        remarks = self.text("src/kcache/kinds/claims.cc")
        named = re.search(r"kRemarkNames\{([^}]*)\}", remarks.code) if remarks else None
        for name in re.findall(r'"(\w+)"', named.group(1)) if named else []:
            if name not in {one[0] for one in out}:
                self.report(remarks.place(named.start()), f"the condition {name} has no reason that is known",
                            "have tools/reference/conditions.py read it")
        return out

    # ---- pods and claims

    def of_pods(self):
        """(name, comment) of each reason of PodScheduled=False. What is said outside of doors has to have one."""
        out = self.enumerators("src/sched/request/pod_reason.h", "PodReason")
        file = self.text("src/sched/request/pod_reason.cc")
        names = re.findall(r'case PodReason::(\w+): return "(\w+)";', file.code) if file else []
        if names != [(name, name) for name, _ in out]:
            self.report("src/sched/request/pod_reason.cc:1", "its names are not those of PodReason", "name each as its enumerator, in order")
        known = set(re.findall(r'KindRow\{"(\w+)"', file.code)) if file else set()
        for place, kind in self.kinds_told():
            if kind not in known:
                self.report(place, f"the kind {kind} has no reason that the pod's condition could say", "give it a row in src/sched/request/pod_reason.cc")
        return out

    def kinds_told(self):
        """(place, kind) of what keeps pods from all nodes, but for what is wrong in them, which doors say."""
        for folder in ("src/sched/volumes/", "src/engine/", "src/scheduler/"):
            for file in self.sources.of(folder):
                told = KINDS if "Blocked" in file.bare else KINDS[:2]
                for found in (one for pattern in told for one in re.finditer(pattern, file.code)):
                    yield from ((file.place(found.start()), kind) for kind in found.groups() if kind)

    def phases(self):
        """As the CRD describes them; those that the scheduler writes."""
        crd = self.sources.tree.text("charts/gpu-scheduler/crds/crds.yaml") or ""
        found = re.search(r"^ +phase:\n +type: string\n +description: >-\n(.*?)\n +enum: \[([^\]]*)\]", crd, re.M | re.S)
        told = dict(re.findall(r"(\w+): (.*?)\.(?= \w+: |$)", " ".join(found.group(1).split()))) if found else {}
        file = self.text("src/scheduler/report/claim_status.cc")
        written = re.findall(r'"([A-Z]\w+)"', " ".join(re.findall(r"\.phase = ([^;]*);", file.code))) if file else []
        for phase in written:
            if phase not in told:
                self.report(f"{file.name}:1", f"nothing says what the phase {phase} means", "describe it in the CRD, as `Phase: what it is.`")
        return [(phase, told.get(phase, "")) for phase in ("Pending", "Reserved", "Bound", "Failed") if phase in written] + [
            (phase, told.get(phase, "")) for phase in sorted(set(written) - {"Pending", "Reserved", "Bound", "Failed"})]


def status(is_true):
    return "True" if is_true else "False"


def page(sources, report):
    reader = Reader(sources, report)
    reader.check_writers()
    out = ["# Conditions", "", "What programs of ours write into `status.conditions`, and the phases of a GpuClaim. `…` stands for what is put in.",
           "", "## Pod", "", "| type | status | reason | by | |", "|---|---|---|---|---|"]
    out += [row("`PodScheduled`", "False", f"`{reason}`", "gpu-scheduler", meaning) for reason, meaning in reader.of_pods()]
    out += ["", "Its message says why, in words: [why a pod waits](../use/scheduler.md#why-a-pod-waits). Autoscalers add nodes for",
            "`Unschedulable` only: [reasons and autoscalers](../use/scheduler.md#reasons-and-autoscalers)."]
    out += ["", "## GpuClaim", "", "A GpuClaim has no conditions. gpu-scheduler writes `status.phase`:", "", "| phase | |", "|---|---|"]
    out += [row(f"`{phase}`", meaning) for phase, meaning in reader.phases()]
    out += ["", "## GpuNodeStatus", "", "By gpu-scheduler-agent ([agent.md](../use/agent.md#what-it-publishes)).", "",
            "| type | status | reason | message | what it is |", "|---|---|---|---|---|"]
    out += [row(f"`{kind}`", status(is_true), f"`{reason}`", "why, in words" if message == "…" else message, meaning)
            for kind, is_true, reason, message, meaning in reader.of_agent()]
    out += ["", "## GKMCache, ClusterGKMCache and their node objects", "",
            "The first condition of a cache is how it is over all nodes, by gkm-operator; that of an entry of a GKMCacheNode or a",
            "ClusterGKMCacheNode how it is on that node, by gkm-agent. Its status is always True, and its reason is its type. Behind the",
            "sentence stands the cause, where there is one. Of several that are so on its nodes a cache has the first of Error,",
            "UnloadError, NoNamespace, Outdated, Running, Extracted, Downloading, Pending; one that is deleted UnloadError or Deleting",
            "before all others ([gkm-operator.md](../use/gkm-operator.md#a-caches-life)).", "",
            "| type | message | what it is |", "|---|---|---|"]
    out += [row(f"`{name}`", sentence, comment) for name, sentence, comment in reader.of_caches()]
    out += ["", "Behind it, of a cache that pods find by PersistentVolumeClaims, by gkm-operator:", "",
            "| type | status | reason | |", "|---|---|---|---|"]
    out += [row(f"`{kind}`", status(is_true), f"`{reason}`", comment) for kind, is_true, reason, comment in reader.of_claims()]
    return out
