"""docs/reference/values.md: the values of the charts, with default and meaning.

A value's meaning is its comment in values.yaml: the lines above it, and what stands behind it. A few names mean in every
chart what Kubernetes means by them (KUBERNETES). values.schema.json adds the words and numbers that are taken, and names that
values.yaml has not. The YAML is of the plain form that these files have: maps by indentation, lists and maps in one line.
"""

import json
import re

from reference.page import row

LINE = re.compile(r"^ *(?P<name>[\w./-]+):(?: +(?P<value>.*?))?(?: +# (?P<comment>.*))?$")
CHARTS = (("gpu-scheduler", "../use/chart.md#values"), ("gkm", "../use/gkm-install.md#the-charts-values"),
          ("gpu-scheduler-check", "../use/chart.md#the-check-chart"))
# Names that are Kubernetes' or Helm's own, wherever they stand.
KUBERNETES = {
    "nameOverride": "in place of the chart's name, in names of objects",
    "fullnameOverride": "in place of the release's and the chart's name, in names of objects",
    "repository": "of the image", "pullPolicy": "as in a container's `imagePullPolicy`",
    "imagePullSecrets": "as in a pod's spec", "nodeSelector": "as in a pod's spec", "tolerations": "as in a pod's spec",
    "affinity": "as in a pod's spec", "priorityClassName": "as in a pod's spec", "podSecurityContext": "a pod's `securityContext`",
    "securityContext": "a container's `securityContext`", "resources": "as in a container", "env": "as in a container",
    "extraVolumes": "more `volumes` of the pod", "extraVolumeMounts": "more `volumeMounts` of the container",
    "extraArgs": "more flags of the program", "logLevel": "`--log-level` of the program", "logFormat": "`--log-format` of the program",
    "podAnnotations": "of all pods of the chart", "podLabels": "of all pods of the chart",
    "livenessProbe": "as in a container", "readinessProbe": "as in a container", "type": "as in a Service's spec",
    "leaseDuration": "as of kube-scheduler's `leaderElection`", "renewDeadline": "as of kube-scheduler's `leaderElection`",
    "retryPeriod": "as of kube-scheduler's `leaderElection`", "timeoutSeconds": "as in a webhook configuration",
}
OF_PARTS = {"image": "in place of `image`, member by member", "annotations": "of the object", "labels": "of the object",
            "create": "whether the chart makes it", "enabled": "whether it is there"}


class Value:
    def __init__(self, name, parent, line, indent, comment):
        self.name, self.line, self.indent, self.comment = name, line, indent, comment
        self.path = f"{parent.path}.{name}" if parent else name
        self.default, self.children, self.block = None, [], []


def join(*parts):
    return " ".join(part for part in parts if part)


def read(text):
    """All values in order. One whose value stands on lines below it has children, or a list in `block`."""
    out, open_ones, above, last = [], [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            above = above + [stripped.lstrip("# ")] if stripped else []
            continue
        indent = len(line) - len(line.lstrip())
        found = LINE.match(line)
        if is_in_list(last, stripped, indent):
            last.block.append(line.split(" #")[0].strip())
            continue
        if not found:
            raise ValueError(number)
        open_ones = [one for one in open_ones if one.indent < indent]
        parent = open_ones[-1] if open_ones else None
        value = Value(found.group("name"), parent, number, indent, join(" ".join(above), found.group("comment") or ""))
        above, last = [], value
        raw = found.group("value")
        value.default = raw if raw and not raw.startswith("#") else None
        if raw and raw.startswith("# "):
            value.comment = join(value.comment, raw[2:])
        if parent:
            parent.children.append(value)
        if value.default is None:
            open_ones.append(value)
        out.append(value)
    return out


def is_in_list(last, stripped, indent):
    """The line belongs to the list of the value above it."""
    begins = last is not None and last.default is None and stripped.startswith("- ") and indent >= last.indent
    return begins or last is not None and bool(last.block) and indent > last.indent


def rule_of(schema, path):
    """What the schema says of a value."""
    at = schema
    for name in path.split("."):
        while "$ref" in at:
            at = schema["definitions"][at["$ref"].rpartition("/")[2]]
        at = at.get("properties", {}).get(name, {})
    return at


def taken(rule, said, default):
    """Which words or numbers it may be, where that is not said."""
    words = [one for one in rule.get("enum", []) if one not in ("", None, True, False)]
    if "minimum" in rule and "maximum" in rule and str(rule["maximum"]) not in said:
        return f"({rule['minimum']} to {rule['maximum']})"
    others = [f"`{one}`" for one in words if str(one) not in said and str(one) != default]
    return f"(also: {', '.join(others)})" if others else ""


def default_of(value):
    if value.block:
        return "`[" + ", ".join(re.sub(r"^- ", "", one) for one in joined(value.block)) + "]`"
    return f"`{value.default}`"


def joined(block):
    """Members of a list, each in one text."""
    out = []
    for line in block:
        if line.startswith("- "):
            out.append(line)
        else:
            out[-1] += f", {line}"
    return [one if one.startswith("- {") or ":" not in one else "- {" + one[2:] + "}" for one in out]


def meaning(value, schema):
    said = value.comment or KUBERNETES.get(value.name) or (OF_PARTS.get(value.name) if "." in value.path else "") or ""
    return join(said, taken(rule_of(schema, value.path), said, value.default)) if said else ""


def is_leaf(value):
    """It is set as a whole: it has no members, or only such as Kubernetes names."""
    return not value.children or value.name in ("resources", "podSecurityContext", "securityContext", "nodeSelector")


def members(value):
    if value.children:
        return "{" + ", ".join(f"{one.name}: {members(one)}" for one in value.children) + "}"
    return value.default or default_of(value).strip("`")


def unlisted(schema, values, at=None, path=""):
    """Names of the schema that values.yaml has not, beside some that it has."""
    at = at or schema
    for name, one in at.get("properties", {}).items():
        known = next((value for value in values if value.path == path + name), None)
        if known is None and name != "global":  # Helm's own
            yield path + name
        elif known and known.children and not is_leaf(known):
            yield from unlisted(schema, values, one if "properties" in one else {}, path + name + ".")


def rows(tree, chart, report):
    schema = json.loads(tree.text(f"charts/{chart}/values.schema.json"))
    place = f"charts/{chart}/values.yaml"
    try:
        values = read(tree.text(place))
    except ValueError as number:
        report(f"{place}:{number}", "a line that cannot be read", "write it as `name: value`, lists and maps in one line")
        return []
    out, within = [], []
    for value in values:
        if any(value.path.startswith(one.path + ".") for one in within):
            continue
        if is_leaf(value):
            within.append(value)
            said = meaning(value, schema)
            if not said:
                report(f"{place}:{value.line}", f"nothing says what {value.path} means", "write a comment beside it")
            out.append(row(f"`{value.path}`", f"`{members(value)}`" if value.children else default_of(value), said))
        elif value.comment:
            out.append(row(f"`{value.path}`", "", value.comment))
    others = [f"`{name}`" for name in unlisted(schema, values)]
    out += ["", "Taken besides: " + ", ".join(others) + " ([migration.md](../use/migration.md))."] if others else []
    return out


def page(sources, report):
    out = ["# Values of the charts", "",
           "As `values.yaml` of each chart has them. Names that are not there are refused; null counts as empty where a value may be empty."]
    for chart, link in CHARTS:
        out += ["", f"## {chart}", "", f"More of them: [{link.partition('/use/')[2].partition('#')[0]}]({link}).", "",
                "| value | default | what it is |", "|---|---|---|", *rows(sources.tree, chart, report)]
    return out
