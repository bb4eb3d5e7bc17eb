#!/usr/bin/env python3
"""Sends the requests of cases.py to a real API server and keeps the answers in conformance.json.

    record.py URL TOKEN      (kube-apiserver with --disable-admission-plugins=ServiceAccount, a fresh etcd)

sandbox's conformance_test.cc replays the same requests against our Api and compares code and body. What differs from
run to run is replaced, by the same rules there: uids u1, u2 .. and resourceVersions r1, r2 .. in order of first
appearance within a case, times by <time>, ages by <age>; managedFields and the resourceVersion of lists are dropped.
"$x" in a request is what an earlier step of the case saved under x.
"""
import json, re, ssl, sys, time, urllib.request, urllib.error, pathlib

HERE = pathlib.Path(__file__).parent
TYPES = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json",
         "json": "application/json-patch+json", "apply": "application/apply-patch+yaml", "": "application/json"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Server:
    def __init__(self, url, token):
        self.url, self.token = url, token
        self.ctx = ssl._create_unverified_context()

    def send(self, method, target, body, ctype, accept):
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        req = urllib.request.Request(self.url + target, data=data, method=method)
        req.add_header("Authorization", "Bearer " + self.token)
        req.add_header("Accept", accept)
        if data is not None:
            req.add_header("Content-Type", ctype)
        try:
            with urllib.request.urlopen(req, context=self.ctx) as r:
                return r.status, r.read().decode(), r.headers.get_all("Warning") or []
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode(), e.headers.get_all("Warning") or []


UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b")


class Names:
    """First-appearance names of uids and resourceVersions of one case."""
    def __init__(self):
        self.uids, self.rvs = {}, {}

    def text(self, s):
        s = UID.sub(lambda m: self.uids.setdefault(m.group(0), f"u{len(self.uids) + 1}"), s)
        return TIME.sub("<time>", s)

    def value(self, v, key="", in_list=False):
        if isinstance(v, dict):
            is_list = "items" in v or v.get("kind") == "Table"
            out = {}
            for k in sorted(v):
                if k == "managedFields" or (is_list and k == "metadata" and self.drop_list_meta(v[k], out)):
                    continue
                out[k] = self.value(v[k], k)
            return out
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if isinstance(v, str):
            if key == "resourceVersion" and v.isdigit():
                return self.rvs.setdefault(v, f"r{len(self.rvs) + 1}")
            return self.text(v)
        return v

    def drop_list_meta(self, meta, out):
        meta = {k: ("<continue>" if k == "continue" else x) for k, x in meta.items() if k != "resourceVersion"}
        out["metadata"] = meta
        return True


def table_ages(v):
    """Age cells by column name."""
    if isinstance(v, dict) and v.get("kind") == "Table":
        names = [c["name"] for c in v.get("columnDefinitions") or []]
        for row in v.get("rows") or []:
            row["cells"] = ["<age>" if n in ("Age", "Last Seen", "First Seen") and c not in (None, "<unknown>") else c
                            for n, c in zip(names, row["cells"])] if names else row["cells"]
        for c in v.get("columnDefinitions") or []:
            c.pop("description", None)
    return v


def pick(v, path):
    for p in path.split("."):
        v = v[int(p)] if isinstance(v, list) else v[p]
    return v


def fill(v, saved):
    if isinstance(v, str):
        return re.sub(r"\$(\w+)", lambda m: str(saved.get(m.group(1), m.group(0))), v)
    if isinstance(v, dict):
        return {fill(k, saved): fill(x, saved) for k, x in v.items()}
    if isinstance(v, list):
        return [fill(x, saved) for x in v]
    return v


def run_step(server, step, saved, names):
    method, target = step["do"].split(" ", 1)
    target = fill(target, saved)
    watching = "watch=true" in target
    accept = TABLE if step.get("table") else "application/json"
    code, text, warnings = server.send(method, target, fill(step.get("body"), saved), TYPES[step.get("type", "")], accept)
    if watching and code == 200:
        answer = [json.loads(line) for line in text.splitlines() if line]
    else:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = text.strip()
    for name, path in step.get("save", {}).items():
        saved[name] = pick(answer, path)
    out = dict(step)
    out["code"] = code
    if isinstance(answer, list):
        answer = [{"type": e["type"], "object": table_ages(e["object"])} for e in answer]
    if not step.get("code_only"):
        out["answer"] = names.value(table_ages(answer))
    if warnings:
        out["warnings"] = [w.split('"', 1)[1].rsplit('"', 1)[0].replace('\\"', '"') for w in warnings]
    return out


def main():
    server = Server(sys.argv[1], sys.argv[2])
    only = sys.argv[3:]
    space = {}
    exec((HERE / "cases.py").read_text(), space)
    lines = []
    for case in space["CASES"]:
        name, steps = case
        if only and name not in only and name != "setup":
            continue
        saved, names = {"ns": f"c-{name}"}, Names()
        server.send("POST", "/api/v1/namespaces", {"metadata": {"name": f"c-{name}"}}, "application/json", "application/json")
        done = []
        for step in steps:
            try:
                done.append(run_step(server, step, saved, names))
            except Exception as e:
                raise SystemExit(f"{name}: {step}: {e!r}")
            if step.get("sleep"):
                time.sleep(step["sleep"])
        text = ",\n  ".join(json.dumps(s, sort_keys=True) for s in done)
        lines.append(f'{{"case": {json.dumps(name)}, "steps": [\n  {text}\n]}}')
    out = "[\n" + ",\n".join(lines) + "\n]\n"
    (pathlib.Path("/tmp/sbx/partial.json") if only else HERE / "conformance.json").write_text(out)
    print(out if only else f"{len(lines)} cases, {sum(len(c[1]) for c in space['CASES'])} steps")


main()
