"""docs/reference/metrics.md: the metrics of each program.

Read are the tables of metrics that machines give as effects (metric_specs.cc), and the calls that make one: gauge(),
counter(), histogram(). What a metric's labels may say, and more than its help says, stands in the comment of its constant,
or above the call where the name stands there:

    /// `result`: scheduled, unschedulable, error. Equal pods that fit nowhere count as one attempt.
"""

import re

from reference.page import row

CALL = re.compile(r"(?:\.|->)(gauge|counter|histogram)\(")
SPEC = re.compile(r"\{\s*((?:\w+::)*k\w+),\s*(?:\w+::)*(?:Metric)?Kind::(\w+),")
LABEL = re.compile(r"\{\s*\"([a-z_]+)\"\s*,")
SAID = re.compile(r"`(\w+)`: (.*?)\.(?=\s|$)")
NAME = re.compile(r"(?:gpu_scheduler|gpu_admission|gpu_agent|gkm_agent|gkm_operator|gkm_csi|scheduler)_[a-z0-9_]+")
NAMED = re.compile(r'"(' + NAME.pattern + ')"')
NOT_PROGRAMS = ("src/base/metrics", "src/k8s/metric_sink", "src/sandbox/", "src/apiserver/")
# What a name begins with, its program, the flag that says where they are served, and where that stands; the first counts.
PROGRAMS = (
    ("gpu_scheduler_webhook_", "gpu-scheduler-webhook", "--metrics-address", "webhook.md#flags"),
    ("gpu_scheduler_agent_", "gpu-scheduler-agent", "--metrics-address", "agent.md#flags"),
    ("gpu_scheduler_holder", "gpu-scheduler-agent", "--metrics-address", "agent.md#flags"),
    ("gpu_agent_", "gpu-scheduler-agent", "--metrics-address", "agent.md#flags"),
    ("gpu_admission_", "gpu-admission", "--pprofAddress", "extender.md#flags"),
    ("gkm_operator_", "gkm-operator", "--health-probe-bind-address", "gkm-operator.md#flags"),
    ("gkm_agent_", "gkm-agent", "--health-probe-bind-address", "gkm-agent.md#what-may-run-it"),
    ("gkm_csi_", "gkm-csi", "--metrics-address", "gkm-csi.md#flags"),
    ("", "gpu-scheduler", "--metrics-address", "scheduler.md#health-and-metrics"),
)
BESIDE = {
    "gpu-admission": "gpu-scheduler has them too when it runs with `--extender-address`, but for "
                     "`gpu_admission_standalone`.",
}


class Metric:
    def __init__(self, name, kind, help_, labels, comment, place):
        self.name, self.kind, self.help, self.labels, self.comment, self.place = name, kind, help_, labels, comment, place


def program_of(name):
    return next(program for start, program, *_ in PROGRAMS if name.startswith(start))


class Reader:
    def __init__(self, sources, report):
        self.sources, self.report = sources, report
        self.found = {}

    def read(self):
        files = [file for file in self.sources.files if not file.name.startswith(NOT_PROGRAMS)]
        for file in files:
            if any(word in file.text for word in ("gauge(", "counter(", "histogram(")):
                for call in CALL.finditer(file.bare):
                    self.read_call(file, call)
            if "MetricSpec" in file.text:
                for spec in SPEC.finditer(file.code):
                    self.read_spec(file, spec)
        self.add_labels(files)
        self.check_names(files)
        return list(self.found.values())  # in the order of the code: some speak of the one before

    def add(self, file, at, name_text, kind, help_, labels):
        """`name_text`: a constant, a literal, or a member that is given one of them somewhere."""
        constant = self.sources.constant(file, name_text)
        name = constant.value if constant else self.sources.value(file, name_text)
        if name is None:
            return self.add_given(file, at, name_text, kind, help_, labels)
        if help_ is None:
            return self.report(file.place(at), f"{name} has no help that can be read", "write it as a text where it is made")
        comment = constant.comment if constant else file.comment_above(file.statement(at)[0] + self.lead(file, at))
        known = self.found.setdefault(name, Metric(name, kind, help_, set(), comment, file.place(at)))
        known.labels |= labels
        return None

    @staticmethod
    def lead(file, at):
        """From where a statement is said to begin to its first letter."""
        begin, end = file.statement(at)
        return len(file.bare[begin:end]) - len(file.bare[begin:end].lstrip())

    def add_given(self, file, at, expression, kind, help_, labels):
        """A parameter of the function around: of each call of it. A member: of whatever it is set to."""
        around = file.around(at, expression)
        if around:
            for call in re.finditer(rf"(?<![\w.:]){around.name}\(", file.bare):
                said = [file.said(span) for span in file.arguments(call.end() - 1)]
                name_text = said[around.parameters.index(expression)]
                if name_text.startswith(('"', "k")):  # else it is where the function is written
                    texts = [self.sources.value(file, one) for one in said[1:]]
                    self.add(file, call.start(), name_text, kind, help_ or next(filter(None, texts), None), labels)
            return
        member = expression.rpartition(".")[2]
        given = [(other, match) for other in self.sources.files if f".{member} = " in other.text
                 for match in re.finditer(rf"\.{member} = ((?:\w+::)*k\w+)", other.code)]
        if not given:
            self.report(file.place(at), f"a metric whose name cannot be read: {expression}", "name it by a constant or a text")
        for other, match in given:
            self.add(other, match.start(), match.group(1), kind, help_, labels)

    def read_call(self, file, call):
        spans = file.arguments(call.end() - 1)
        said = [file.said(span) for span in spans]
        if len(said) < 2:
            return
        labels = set(LABEL.findall(file.code[spans[1][1]:file.closing(call.end() - 1)]))
        if re.fullmatch(r"\w+", said[-1]) and said[-1] not in ("help", "kBuckets"):
            labels |= self.labels_of_variable(file, call.start(), said[-1])
        self.add(file, call.start(), said[0], call.group(1) + self.buckets(file, call.start(), said), self.sources.value(file, said[1]), labels)

    @staticmethod
    def labels_of_variable(file, at, name):
        begins = [match.end() - 1 for match in re.finditer(rf"Labels {name}\{{", file.bare) if match.start() < at]
        return set(LABEL.findall(file.code[begins[-1]:file.closing(begins[-1])])) if begins else set()

    @staticmethod
    def buckets(file, at, said):
        if len(said) < 3 or "kBuckets" not in said[2]:
            return ""
        made = [match for match in re.finditer(r"\bkBuckets(?: = )?\{([^}]*)\}", file.code) if match.start() < at]
        return bucket_text(made[-1].group(1)) if made else ""

    def read_spec(self, file, spec):
        spans = file.arguments(spec.start())
        said = [file.said(span) for span in spans]
        kind = spec.group(2).lower() + (bucket_text(said[3].strip("{}")) if said[3] != "{}" else "")
        self.add(file, spec.start(), said[0], kind, self.sources.value(file, said[2]), set())

    def add_labels(self, files):
        """Of effects: {op, kName, {{"label", value}}, 1}, count(kName, {{"label", value}})."""
        names = "|".join(sorted({one.name for one in self.sources.constants if one.value in self.found}))
        use = re.compile(rf"\b((?:\w+::)?(?:{names})),\s*\{{(?=\{{\")") if names else re.compile("(?!)")
        for file in files:
            for match in use.finditer(file.text) if '{{"' in file.text else ():
                constant = self.sources.constant(file, match.group(1))
                if constant and constant.value in self.found:
                    end = file.closing(match.end() - 1)
                    self.found[constant.value].labels |= set(LABEL.findall(file.code[match.end():end]))

    def check_names(self, files):
        for file in files:
            for named in NAMED.finditer(file.text):
                if named.group(1) not in self.found:
                    self.report(file.place(named.start()), f"{named.group(1)} is made nowhere that can be read",
                                "give it to gauge(), counter(), histogram() or a table of MetricSpec")
        for metric in self.found.values():
            told = {label for label, _ in SAID.findall(metric.comment)}
            for label in sorted(metric.labels - told):
                self.report(metric.place, f"nothing says what the label {label} of {metric.name} may be",
                            f"write into the comment beside its name: `{label}`: one, another.")
            metric.labels |= told


def bucket_text(numbers):
    all_ = [one.strip() for one in numbers.split(",") if one.strip()]
    return f", {len(all_)} buckets from {all_[0]} to {all_[-1]}"


def meaning(metric):
    rest = re.sub(r" \([\w/]+\.h\)", "", SAID.sub("", metric.comment))  # no file of the code
    return " ".join(part for part in (metric.help, " ".join(rest.split())) if part)


def labels_text(metric):
    return "; ".join(f"`{label}`: {values}" for label, values in SAID.findall(metric.comment))


def page(sources, report):
    metrics = Reader(sources, report).read()
    out = ["# Metrics", "",
           "What each program says at `/metrics`, in the text format of Prometheus: type and help as they stand there, and behind the",
           "help what else there is to know. Of a histogram the buckets are in seconds."]
    for program, (flag, link) in {program: served for _, program, *served in (PROGRAMS[-1], *PROGRAMS[:-1])}.items():
        ours = [one for one in metrics if program_of(one.name) == program]
        if ours:
            out += ["", f"## {program}", "", f"Served at `{flag}` ([{link.partition('#')[0]}](../use/{link})).", ""]
            out[-2] += " " + BESIDE[program] if program in BESIDE else ""
            out += ["| metric | type | labels | |", "|---|---|---|---|"]
            out += [row(f"`{one.name}`", one.kind, labels_text(one), meaning(one)) for one in ours]
    return out
