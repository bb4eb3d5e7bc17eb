"""docs/reference/events.md: the Kubernetes events of each program.

An event is an EventNote (controller/event.h). It is found wherever one is made: with its members in order or by name, in a
list that is sent or kept, or member by member. Where its reason is a parameter of the function around, each call of that is
one. What cannot be read so is reported. What an event says is taken from there, with ... for what is put in.

When an event comes and what to do about it stands in when.py: each reason has a line there, and each line a reason.
"""

import re

from reference.cpp import split, text_of
from reference.page import row
from reference.when import WHEN

LIST = re.compile(r"(?:\bEventNote\s*\w*\s*|events_?\.send\(\s*|notes_?\.push_back\(\s*|\.record\(\s*)\{")
PIECEWISE = re.compile(r"\bEventNote (\w+);")
UNREADABLE = re.compile(r"\bEventNote\s*\(|\bEventNote\s+\w+\s*=|\bnotes_\.emplace_back\(")
ACTION = re.compile(r"\.action = ")  # each event has one
WORDS = ("EventNote", "events.send(", "events_.send(", "notes_.", "notes.push_back(", ".record(", ".action = ")  # of these forms
MEMBERS = ("kind", "object", "uid", "revision", "warning", "reason", "action", "note", "once")
KINDS = {"kPod": "Pod", "kNode": "Node", "kGpuClaim": "GpuClaim", "kQuotaMap": "ConfigMap",
         "cacheKindOf": "GKMCache, ClusterGKMCache", "nodeKindOf": "GKMCacheNode, ClusterGKMCacheNode"}
# Of a folder, the programs that say its events, by the longest that fits.
PROGRAMS = {"src/scheduler/": "gpu-scheduler", "src/extender/": "gpu-admission", "src/engine/": "gpu-scheduler, gpu-admission",
            "src/agent/": "gpu-scheduler-agent", "src/operator/": "gkm-operator", "src/operator/node/": "gkm-agent"}
NOT_READ = ("src/controller/", "src/sandbox/", "src/apiserver/")
# Reasons that are a member of some value: where the words are, and what of them.
ELSEWHERE = {
    "oddity.reason": ("src/model/claim_oddities.cc", "src/sched/placement/claim_oddities.cc"),
    "kcache::nameOf(is.state)": ("src/operator/caches.cc",),
}
ODDITY = re.compile(r'"((?:[A-Z][a-z]+){2,})"')
TOLD_STATE = re.compile(r"is_told =([^;]*);")
NORMAL_STATE = re.compile(r"warning = is\.state != State::(\w+)")


class Event:
    def __init__(self, programs, reason, warning, kind, note, place):
        self.programs, self.reason, self.place = programs, reason, place
        self.types, self.kinds, self.notes = {"Warning" if warning else "Normal"}, [kind], [note]

    def join(self, other):
        self.types |= other.types
        self.kinds += [kind for kind in other.kinds if kind not in self.kinds]
        self.notes += [note for note in other.notes if note not in self.notes]


class Reader:
    def __init__(self, sources, report):
        self.sources, self.report = sources, report
        self.found = {}

    def read(self):
        for file in self.sources.of(*PROGRAMS):
            if any(word in file.text for word in WORDS):
                self.read_file(file)
        self.check_elsewhere()
        return self.found

    def read_file(self, file):
        read = []  # where what was read stands
        for made in LIST.finditer(file.bare):
            read.append((made.start(), file.closing(made.end() - 1)))
            self.read_list(file, made)
        for made in PIECEWISE.finditer(file.bare):
            read.append((made.start(), file.bare.find("return", made.end())))
            self.read_pieces(file, made)
        others = [one.start() for one in ACTION.finditer(file.bare) if not any(begin < one.start() < end for begin, end in read)]
        for at in [*others, *(one.start() for one in UNREADABLE.finditer(file.bare))]:
            self.report(file.place(at), "an event that cannot be read", "make it as EventNote{...}, or member by member")

    def check_elsewhere(self):
        """Events of other folders are none of a program that is known here."""
        for file in self.sources.files:
            if "EventNote" in file.text and not file.name.startswith(NOT_READ + tuple(PROGRAMS)) and LIST.search(file.bare):
                self.report(file.place(0), "events of a folder that no program is known to have", "add it to PROGRAMS of tools/reference/events.py")

    def read_list(self, file, made):
        spans = file.arguments(made.end() - 1)
        said = [file.said(span) for span in spans]
        if not said:
            return
        if said[0].startswith("."):
            parts = dict(re.match(r"\.(\w+) = (.*)", one).groups() for one in said)
        elif len(said) in (len(MEMBERS) - 1, len(MEMBERS)):
            parts = dict(zip(MEMBERS, said))
        else:
            return self.report(file.place(made.start()), "an event that cannot be read", "give it all its members, in order or by name")
        return self.add(file, made.start(), parts)

    def read_pieces(self, file, made):
        end = file.bare.find("return", made.end())
        parts = dict(re.findall(rf"\b{made.group(1)}\.(\w+) = ([^;]*);", file.code[made.end():end]))
        self.add(file, made.start(), parts)

    def add(self, file, at, parts):
        """`parts`: expressions. One whose reason is a parameter is made by each call of the function around."""
        parts = {name: re.sub(r"^std::move\((.*)\)$", r"\1", value) if isinstance(value, str) else value for name, value in parts.items()}
        reason = parts.get("reason", "")
        text = self.sources.value(file, reason)
        if text is not None:
            return self.note(file, at, text, parts)
        if reason in ELSEWHERE:
            return self.add_elsewhere(file, at, parts, reason)
        around = file.around(at, reason) if re.fullmatch(r"\w+", reason) else None
        if not around:
            return self.report(file.place(at), f"an event whose reason cannot be read: {reason}", "give a text or a constant")
        return self.add_calls(file, around, parts)

    def add_calls(self, file, around, parts):
        """A note that is a parameter is read where the call is; of another one, what the call puts in."""
        for other, at, said in self.calls(file, around):
            given = dict(zip(around.parameters, said))
            there = {key: given.get(value, value) for key, value in parts.items() if key != "context"}
            read_at = parts.get("context", (file, around.begin, {}))
            there["context"] = (other, at, {}) if parts["note"] in given else (*read_at[:2], {**read_at[2], **given})
            self.add(other, at, there)

    def calls(self, file, around):
        """(file, where, arguments) of each call: of a class's function in all of the program, of others in the file."""
        room = file.name[:file.name.index("/", len("src/")) + 1]
        for other in [file, *self.sources.of(room)] if around.room else [file]:
            before = r"(?<![\w:.>&])" if other is file else r"(?:\.|->)"
            for call in re.finditer(before + around.name + r"\(", other.bare if f"{around.name}(" in other.text else ""):
                said = [other.said(span) for span in other.arguments(call.end() - 1)]
                is_declared = re.search(r"(?:EventNote|void|auto) $", other.bare[:call.start()])
                if not is_declared and len(said) == len(around.parameters):
                    yield other, call.start(), said

    def add_elsewhere(self, file, at, parts, reason):
        there = [other for other in map(self.sources.named, ELSEWHERE[reason]) if other]
        found = self.oddities(there) if reason.startswith("oddity") else self.states(there)
        if not found:
            self.report(file.place(at), f"no words of {reason} are found", "mend ELSEWHERE of tools/reference/events.py")
        for name, warning, note in found:
            self.note(file, at, name, {**parts, "warning": warning, "rendered": note})

    @staticmethod
    def states(files):
        text = "".join(file.code for file in files)
        normal = NORMAL_STATE.findall(text)
        names = [name for told in TOLD_STATE.findall(text) for name in re.findall(r"State::(\w+)", told)]
        return [(name, "false" if name in normal else "true", "…") for name in names]

    def oddities(self, files):
        """ClaimOddity{reason, about, text}; odd(reason, about, what is said behind it), and ignored() of one reason."""
        out = []
        for file in files:
            for made in re.finditer(r"\bClaimOddity\{|(?<!auto )\b(?:odd|ignored)\(", file.bare):
                said = [file.said(span) for span in file.arguments(made.end() - 1)]
                said = ["kIgnored", *said] if made.group(0) == "ignored(" else said
                reason = self.sources.value(file, said[0]) if len(said) == 3 else None
                if reason is not None and said[1] != "std::move(about)":  # that is ignored() itself
                    notes = [self.render(file, made.start(), one, {}) for one in said[1:]]
                    out.append((reason, "true", notes[1] if made.group(0).startswith("Claim") else "".join(notes)))
        read = {name for name, _, _ in out}
        for file in files:
            for other in set(ODDITY.findall(file.code)) - read:
                self.report(file.place(file.code.index(other)), f"an event that cannot be read: {other}", "give it to odd() or ClaimOddity{}")
        return out

    def note(self, file, at, reason, parts):
        for programs in [value for key, value in sorted(PROGRAMS.items()) if file.name.startswith(key)][-1].split(", "):
            read_at = parts.get("context", (file, at, {}))
            text = parts.get("rendered") or self.render(read_at[0], read_at[1], parts.get("note", ""), read_at[2])
            event = Event(programs, reason, parts.get("warning", "false") == "true", self.kind(parts), text, file.place(at))
            known = self.found.setdefault((programs, reason), event)
            known.join(event)

    @staticmethod
    def kind(parts):
        said = parts.get("kind", "kapi::kPod")
        return next((kind for word, kind in KINDS.items() if re.search(rf"\b{word}\b", said)), "?")

    def render(self, file, at, expression, given):
        """What a note says, with … for what is not known before. `given`: what parameters are, as expressions."""
        if expression in given:
            return text_of(given[expression]) or "…"
        if re.fullmatch(r"\*?[a-z]\w*", expression):
            return self.render_variable(file, at, expression.lstrip("*"), given)
        if expression.startswith("fmt::format(") and expression.endswith(")"):
            form, *put_in = split(expression[len("fmt::format("):-1])
            texts = iter([self.sources.value(file, one) or text_of(given.get(one, "")) or "…" for one in put_in])
            return re.sub(r"\{[^{}]*\}", lambda _: next(texts, "…"), text_of(form) or "…")
        pieces = [piece for piece in re.split(r'\s*\+\s*(?=(?:[^"]*"[^"]*")*[^"]*$)', expression) if piece]
        if len(pieces) > 1:
            return "".join(self.render(file, at, piece, given) for piece in pieces)
        text = self.sources.value(file, expression)
        return "…" if text is None else text

    def render_variable(self, file, at, name, given):
        """As it was made last before, and in brackets what may be put behind it."""
        made = [match for match in re.finditer(rf"(?:auto|std::string) {name} =\s*([^;]*);", file.bare[:at])]
        if not made:
            return "…"
        text = self.render(file, made[-1].start(), file.said(made[-1].span(1)), given)
        for more in re.finditer(rf"\b{name} \+= ([^;]*);", file.bare[made[-1].end():at]):
            text += f"[{self.render(file, at, file.said([made[-1].end() + place for place in more.span(1)]), given)}]"
        return text


def sandbox_reasons(sources):
    """Of the sandbox, whose controllers and kubelet say what Kubernetes' own say."""
    found = set()
    for file in sources.of("src/sandbox/"):
        if not re.search(r'"(?:Normal|Warning)"|warnAbout\(|complaints\.', file.text):
            continue
        found |= set(re.findall(r'"(?:Normal|Warning)",\s*"(\w+)"', file.code))
        found |= set(re.findall(r'(?:warnAbout|complaints\.emplace_back)\([^;]*?"([A-Z]\w+)"', file.code))
    return sorted(found)


def check_when(found, report):
    for key, event in found.items():
        if key not in WHEN:
            report(event.place, f"nothing says when the event {event.reason} of {event.programs} comes",
                   "add it to tools/reference/when.py")
    for program, reason in WHEN:
        if (program, reason) not in found:
            report("tools/reference/when.py:1", f"{program} makes no event {reason}", "take it out")


def page(sources, report):
    found = Reader(sources, report).read()
    check_when(found, report)
    out = ["# Events", "",
           "The Kubernetes events of each program (`kubectl describe`, `kubectl events`). `…` stands for what is put in; what stands",
           "in brackets is said where there is some."]
    for program in sorted({program for program, _ in found}, key=["gpu-scheduler", "gpu-scheduler-agent", "gpu-admission", "gkm-operator", "gkm-agent"].index):
        out += ["", f"## {program}", "", "| reason | type | on | says | when | what to do |", "|---|---|---|---|---|---|"]
        for (_, reason), event in sorted(item for item in found.items() if item[0][0] == program):
            when, do = WHEN.get((program, reason), ("", ""))
            out.append(row(f"`{reason}`", ", ".join(sorted(event.types)), ", ".join(event.kinds), said_of(event), when, do))
    out += ["", "## gpu-sandbox", "",
            "Its kubelets and controllers say what Kubernetes' own say, with these reasons: "
            + ", ".join(f"`{one}`" for one in sandbox_reasons(sources)) + "."]
    return out


def said_of(event):
    notes = sorted((re.sub("…+", "…", note) for note in event.notes), key=lambda note: note != "…")
    return "; or: ".join("why, in words" if note == "…" else f"`{note}`" for note in notes)
