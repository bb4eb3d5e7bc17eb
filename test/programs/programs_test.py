#!/usr/bin/env python3
"""programs_test.py: the programs as somebody sees them who types: what --help, completion and the manual page say is what is taken,
the pages of docs/use list every flag, slips are answered, and what runs logs, serves its health and ends as told.
GS_BIN: where the programs are (default: build/release/bin). Needs nothing else.
"""

import json
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("GS_BIN", ROOT / "build/release/bin"))
PROGRAMS = ("gpu-scheduler", "gpu-scheduler-webhook", "gpu-scheduler-agent", "gpu-scheduler-check", "gpu-admission", "gpu-sandbox", "mcv", "gkm-operator", "gkm-csi")
PATIENCE = 60  # seconds: a limit for broken programs, never a measure
WITHOUT_MEANING = "Of klog, taken without meaning"


def call(program, *arguments):
    done = subprocess.run([BIN / program, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


def said(program, *arguments):
    code, out, err = call(program, *arguments)
    assert code == 0 and err == "", (program, arguments, code, err)
    return out


def help_pages(program, *path):
    """(path, text) of a program and all commands below it."""
    text = said(program, *path, "--help")
    yield path, text
    names = re.search(r"\nCommands:\n(.*?)\n\n", text, re.S)
    for line in names.group(1).splitlines() if names else []:
        if re.match(r"  \S", line):
            yield from help_pages(program, *path, line.split()[0])


def flags_of(text, but=()):
    """Every --flag that a help page describes, but those of some topics."""
    out, topic = set(), ""
    for line in text.splitlines():
        if re.match(r"\S.*:$", line):
            topic = line[:-1]
        elif re.match(r"  --?\w", line) and topic not in but:
            out |= set(re.findall(r"--[\w-]+", re.split(r"\s{2,}", line.strip())[0]))
    return out


class CommandLine(unittest.TestCase):
    def test_version(self):
        for program in PROGRAMS:
            for words in (["--version"], ["--version=true"], ["--version", "extra"]):
                self.assertRegex(said(program, *words), rf"^{program}-\d+\.\d+\n$")

    def test_of_a_flag_that_is_given_twice_the_last_counts(self):
        code, _, err = call("gpu-scheduler", "--kubeconfig=/one", "--log-format=json", "--kubeconfig=/two", "--log-format=text")
        self.assertEqual((code, "cannot read /two" in err), (2, True), err)

    def test_help_is_a_word_too_and_of_every_command(self):
        for program in PROGRAMS:
            for path, text in help_pages(program):
                self.assertEqual(said(program, "help", *path), text)

    def test_help_is_readable(self):
        for program in PROGRAMS:
            for path, text in help_pages(program):
                self.assertNotRegex(text, r"\bTEXT\b|\bU?INT\b|\{|\}|\bREQUIRED\b|ENUM", (program, path))
                self.assertTrue(all(len(line) <= 100 for line in text.splitlines()), (program, path))
                for topic in re.findall(r"\n([A-Z][^\n]*):\n(?=  -)", text):
                    self.assertNotIn(topic, ("Options", "Positionals"))

    def test_each_flag_is_in_the_manual_page_and_in_every_shells_completion(self):
        for program in PROGRAMS:
            page = said(program, "man").replace("\\-", "-")
            scripts = {shell: said(program, "completion", shell) for shell in ("bash", "zsh", "fish")}
            for path, text in help_pages(program):
                flags = flags_of(text)
                self.assertIn("--help", flags)
                for flag in flags:
                    self.assertIn(f"\\fB{flag}\\fR", page, program)
                    self.assertRegex(scripts["bash"], rf"'{' '.join([program, *path])}'\) .*flags='[^']*{flag}[ ']")
                    self.assertRegex(scripts["zsh"], rf"'{flag}[=\[]")
                    self.assertRegex(scripts["fish"], rf" -l {flag[2:]} ")

    def test_bash_completes(self):
        table = [
            ("gpu-sandbox ", "serve node gpu demo nodes help completion man"),
            ("gpu-sandbox no", "node nodes"),
            ("gpu-sandbox node ", "add remove drain"),
            ("gpu-sandbox help ", "serve node gpu demo nodes help completion man"),
            ("gpu-sandbox serve --log-f", "--log-format"),
            ("gpu-sandbox serve --log-format ", "text json"),
            ("gpu-sandbox serve --log-format = j", "json"),
            ("gpu-sandbox gpu fail node-a 0 --x", "--xid"),
            ("gpu-sandbox serve --nodes /dev/nul", "/dev/null"),
            ("gpu-scheduler --visible-devices ", "ids uuid"),
            ("gpu-scheduler --identity ", ""),
            ("gpu-admission completion ", "bash zsh fish"),
        ]
        for line, wanted in table:
            program, *_ = words = line.split(" ")
            script = (f"{said(program, 'completion', 'bash')}\nCOMP_WORDS=({' '.join(repr(word) for word in words)})\n"
                      f"COMP_CWORD={len(words) - 1}\n_{program.replace('-', '_')}\necho \"${{COMPREPLY[*]}}\"\n")
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual((done.stdout.strip(), done.stderr), (wanted, ""), line)

    def test_the_pages_of_docs_list_every_flag_and_no_other(self):
        pages = [("gpu-scheduler", (), "scheduler"), ("gpu-scheduler-webhook", (), "webhook"), ("gpu-scheduler-agent", (), "agent"),
                 ("gpu-admission", (), "extender"), ("mcv", (), "kernel-caches"),
                 ("gpu-sandbox", ("serve",), "sandbox")]
        for program, path, name in pages:
            flags = flags_of(said(program, *path, "--help"), but=("General", WITHOUT_MEANING))
            text = (ROOT / f"docs/use/{name}.md").read_text()
            self.assertEqual({flag for flag in flags if not re.search(rf"`{flag}[`= ]", text)}, set(), name)
            rows = [row.split("|")[1] for row in re.findall(r"^\| `-.*", text, re.M)]
            known = flags | flags_of(said(program, *path, "--help"))
            self.assertEqual({flag for row in rows for flag in re.findall(r"--[\w-]+", row)} - known, set(), name)

    def test_slips(self):
        table = [
            (["gpu-sandbox", "srve"], "'gpu-sandbox' has no command srve; did you mean serve?"),
            (["gpu-sandbox", "gpu", "brake"], "'gpu-sandbox gpu' has no command brake; there are fail, repair"),
            (["gpu-sandbox", "node"], "'gpu-sandbox node' needs a command: add, remove, drain"),
            (["gpu-sandbox", "serve", "--log-format=xml"], "--log-format is 'xml'; write text or json"),
            (["gpu-scheduler", "--log-format=xml"], "--log-format is 'xml'; write text or json"),
            (["gpu-admission", "--log_format=xml"], "--log-format is 'xml'; write text or json"),
            (["gpu-scheduler", "--lease-namspace=x"], "'gpu-scheduler' has no flag --lease-namspace; did you mean --lease-namespace?"),
            (["gpu-scheduler", "--max-sharers=65"], "--max-sharers is '65'; write a number from 1 to 64"),
            (["gpu-admission", "--pprof-address=x"], "'gpu-admission' has no flag --pprof-address; did you mean --pprofAddress?"),
            (["gpu-scheduler", "completion", "csh"], "shell is 'csh'; write bash, zsh or fish"),
            (["gpu-scheduler", "completion"], "'gpu-scheduler completion': shell is required; write bash, zsh or fish"),
            (["gpu-scheduler", "--scheduler-name="], "--scheduler-name is ''; write a name"),
            (["gpu-sandbox", "node", "remove", ""], "name is ''; write one that is not empty"),
            (["gpu-scheduler-agent", "--enforce=all"], "--enforce is 'all'; write off, env or devices"),
            (["gpu-scheduler-agent", "look", "--node-name=n", "--simulate=/not/there"], "--simulate: cannot read /not/there: No such file or directory"),
            (["gpu-scheduler", "--leader-elect="], "--leader-elect: '' is neither true nor false"),
            (["gpu-admission", "--incluster_mode="], "--incluster-mode: '' is neither true nor false"),
            (["gpu-sandbox", "serve", "--no-scheduler="], "--no-scheduler: '' is neither true nor false"),
            (["gpu-sandbox", "serve", "--address=nonsense"],
             "'nonsense' is not an address to listen on; write HOST:PORT, such as 127.0.0.1:8001 or [::1]:8001, "
             "or 127.0.0.1:0 for any free port"),
        ]
        for command, answer in table:
            code, out, err = call(*command)
            self.assertEqual((code, out, err.splitlines()[0]), (2, "", answer), command)

    def test_a_file_of_drivers_that_is_wrong_is_said_before_anything_is_begun(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "drivers.yaml"
            file.write_text("drivers:\n- {name: gpu.example.com, resource: gpu}\n")
            for path, why in (("/not/there", "cannot read /not/there: No such file or directory"),
                              (file, f'{file}: driver gpu.example.com: resource is "gpu"; write the name of an extended resource')):
                code, out, err = call("gpu-scheduler", f"--dra-drivers={path}", "--log-format=json")
                self.assertEqual((code, out), (2, ""), err)
                self.assertTrue(json.loads(err)["msg"].startswith(f"--dra-drivers: {why}"), err)

    def test_a_node_that_an_api_server_would_not_take_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "nodes.yaml"
            file.write_text('nodes: [{name: fine}, {name: one, labels: {"a b": c}}]')
            for command in (["serve", "--address=127.0.0.1:0"], ["nodes"]):
                code, out, err = call("gpu-sandbox", *command, f"--nodes={file}")
                self.assertEqual((code != 0, out), (True, ""), command)
                self.assertIn(f'{file}: node one was not made: Node "one" is invalid: metadata.labels', err, command)


class Running:
    """A program in the background; its stderr goes to a file."""

    def __init__(self, folder, program, *arguments, **options):
        self.log = pathlib.Path(folder) / f"{program}-{time.monotonic_ns()}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([BIN / program, *arguments], stdout=subprocess.DEVNULL, stderr=log, **options)

    def until(self, what, holds):
        """Returns what `holds` says once that is something; asks all the time."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = holds()
            if found:
                return found
            assert self.process.poll() is None, f"ended while waiting for {what}: {self.log.read_text()}"
        raise AssertionError(f"never came true: {what}: {self.log.read_text()}")

    def line(self, text):
        """The first whole line of its log with this in it."""
        return self.until(text, lambda: next((line for line in self.log.read_text().split("\n")[:-1] if text in line), None))

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


CRDS = ROOT / "charts/gpu-scheduler/crds/crds.yaml"
NVML = BIN.parent / "tests/nvml-fake/libnvidia-ml.so.1"


def write(url, method, body, kind="application/json"):
    """Status of the answer."""
    request = urllib.request.Request(url, data=body.encode(), method=method, headers={"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.status


def get(url, body=None):
    """Status and text."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Check(unittest.TestCase):
    def test_it_says_what_its_container_was_told_until_it_is_ended(self):
        def lines(text):
            return [line.split(" - ", 1)[1] for line in text.splitlines()]

        environment = {"PATH": os.environ["PATH"], "NODE_NAME": "node-a", "CUDA_VISIBLE_DEVICES": "0,1", "LOG_INTERVAL": "1"}
        with subprocess.Popen([BIN / "gpu-scheduler-check"], env=environment, stdout=subprocess.PIPE, text=True) as process:
            said = [process.stdout.readline() for _ in range(5)]  # the last after a second
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=PATIENCE)[0]
        self.assertEqual(process.returncode, 0)
        node = "__main__ - INFO - Node: node-a, CUDA_VISIBLE_DEVICES: 0,1"
        self.assertEqual(lines("".join(said)), ["__main__ - INFO - GPU Scheduler Check service starting...",
                                                "__main__ - INFO - Log interval: 1 seconds",
                                                "__main__ - INFO - Environment validation passed", node, node])
        self.assertEqual(lines(rest)[-2:], ["__main__ - INFO - Received signal 2, shutting down gracefully...",
                                            "__main__ - INFO - GPU Scheduler Check service stopped"])

    def test_an_interval_that_is_none_is_refused(self):
        for value, answer in (("0", "LOG_INTERVAL must be at least 1 second"), ("x", "LOG_INTERVAL is 'x'; write a whole number of seconds")):
            done = subprocess.run([BIN / "gpu-scheduler-check"], env={"LOG_INTERVAL": value}, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", answer + "\n"))

    def test_it_ends_with_whether_its_container_was_told_what_was_expected(self):
        for ids, status, error in (("0,1", 0, ""), ("0", 1, "CUDA_VISIBLE_DEVICES is '0,1', and '0' was expected; "
                                                            "does the container, or a webhook of others, set it?\n")):
            done = subprocess.run([BIN / "gpu-scheduler-check", "expect", ids], env={"NODE_NAME": "n", "CUDA_VISIBLE_DEVICES": "0,1"},
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stderr), (status, error))
            self.assertTrue(done.stdout.endswith(" - __main__ - INFO - Node: n, CUDA_VISIBLE_DEVICES: 0,1\n"))

    def test_the_certificate_script_leaves_what_its_guide_names(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([ROOT / "gpu-scheduler/generate-webhook-certs.sh"], cwd=folder, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("Certificates generated successfully!\n"))
            certs = pathlib.Path(folder) / "certs"
            self.assertEqual({path.name for path in certs.iterdir()},
                             {"ca.key", "ca.crt", "ca.srl", "tls.key", "tls.crt", "csr.conf", "webhook-tls-secret.yaml"})
            self.assertEqual((certs / "tls.key").stat().st_mode & 0o077, 0)
            text = subprocess.run(["openssl", "x509", "-noout", "-text", "-in", certs / "tls.crt"], capture_output=True, text=True,
                                  check=True).stdout
            for wanted in ("DNS:gpu-scheduler-webhook.gpu-scheduler-system.svc.cluster.local", "Non Repudiation", "Public-Key: (2048 bit)"):
                self.assertIn(wanted, text)
            subprocess.run(["openssl", "verify", "-CAfile", certs / "ca.crt", certs / "tls.crt"], check=True, capture_output=True)
            self.assertIn("name: gpu-scheduler-webhook-tls\n  namespace: gpu-scheduler-system", (certs / "webhook-tls-secret.yaml").read_text())


class Image(unittest.TestCase):
    """tools/image: what the agent loads in it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "root"
        self.environment = {**os.environ, "GS_BIN": str(BIN)}

    def make_root(self, root, **environment):
        return subprocess.run([ROOT / "tools/image", "--root", root], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env={**self.environment, **environment})

    def test_a_drivers_library_that_needs_parts_of_an_old_glibc_is_loaded(self):
        done = self.make_root(self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # No NVML, so the agent gets as far as its first function.
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", self.root / "libnvidia-ml.so.1", "-Wl,--no-as-needed",
                        "-l:libdl.so.2", "-l:libpthread.so.0", "-l:librt.so.1", "-l:libutil.so.1"], check=True)
        enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot"]
        done = subprocess.run([*enter, self.root, "/usr/bin/gpu-scheduler-agent", "look", "--node-name=n", "--nvml-library=/libnvidia-ml.so.1"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.stderr, "/libnvidia-ml.so.1: it lacks the functions of NVML; name the driver's library by --nvml-library\n")

    def test_a_library_that_is_not_there_is_named(self):
        """A machine without it: an ldd that does not find it."""
        fakes = pathlib.Path(self.folder.name) / "fakes"
        fakes.mkdir()
        (fakes / "ldd").write_text("#!/bin/sh\necho '  libcurl.so.4 => not found'\n")
        (fakes / "ldd").chmod(0o755)
        done = self.make_root(self.root, PATH=f"{fakes}:{os.environ['PATH']}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("libcurl.so.4 => not found", done.stderr)


class Programs(unittest.TestCase):
    """What runs, on a sandbox."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        self.sandbox = self.run_program("gpu-sandbox", "serve", f"--kubeconfig-out={self.kubeconfig}", "--no-scheduler",
                                        "--log-level=info", "--log-format=json")
        self.sandbox.until("a kubeconfig", lambda: os.path.exists(self.kubeconfig))

    def run_program(self, program, *arguments, **options):
        running = Running(self.folder.name, program, *arguments, **options)
        self.addCleanup(running.process.wait)
        self.addCleanup(running.process.kill)
        return running

    def tearDown(self):
        self.assertEqual(self.sandbox.terminate(), 0)
        for line in self.sandbox.log.read_text().splitlines():
            self.assertEqual(list(json.loads(line))[:3], ["ts", "level", "msg"])
        self.doCleanups()
        self.folder.cleanup()

    def test_the_scheduler_says_by_what_it_goes_serves_its_health_and_ends(self):
        scheduler = self.run_program("gpu-scheduler", f"--kubeconfig={self.kubeconfig}", "--metrics-address=127.0.0.1:0",
                                     "--identity=me", "--no-leader-elect", "--log-format=json", "--max-sharers=64")
        running = json.loads(scheduler.line('"msg":"running"'))
        pages = "http://" + running["pages"]
        del running["ts"], running["server"], running["pages"]
        self.assertEqual(running, {
            "level": "info", "msg": "running", "program": said("gpu-scheduler", "--version").strip(),
            "lease": "default/scheduler.gpu.scheduling", "identity": "none: it leads without a lease", "quotas": "none",
            "kubeconfig": self.kubeconfig, "leader-elect": "false", "metrics-address": "127.0.0.1:0", "log-format": "json"})
        scheduler.until("ready", lambda: get(pages + "/readyz")[0] == 200)
        scheduler.until("leading", lambda: "\ngpu_scheduler_leading 1\n" in get(pages + "/metrics")[1])
        self.assertEqual(get(pages + "/healthz"), (200, "ok\n"))
        self.assertEqual(get(pages + "/health"), (200, '{"service":"gpu-scheduler","status":"healthy"}'))
        self.assertEqual(get(pages + "/ready"), (200, '{"service":"gpu-scheduler","status":"ready"}'))
        self.assertEqual(scheduler.terminate(), 0)
        lines = [json.loads(line) for line in scheduler.log.read_text().splitlines()]
        self.assertEqual(lines[-1]["msg"], "stopped")
        self.assertEqual({type(value) for line in lines for value in line.values()}, {str})

    def test_admission_is_ready_only_once_it_answers(self):
        quota = os.path.join(self.folder.name, "quota.json")
        pathlib.Path(quota).write_text('{"QuotaConfigMapName": "q", "GPUModelLabel": "m", "GPUPoolLabel": "p"}')
        flags = [f"--kubeconfig={self.kubeconfig}", "--lease-namespace=default", f"--config={quota}"]
        question = json.dumps({"Pod": {
            "metadata": {"name": "p", "namespace": "default", "uid": "u"},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {
                "tencent.com/vcuda-core": "50", "tencent.com/vcuda-memory": "4"}}}]}},
            "NodeNames": ["node-a"]}).encode()
        with subprocess.Popen(["python3", "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"],
                              stdout=subprocess.PIPE, text=True) as asks:
            address = f"127.0.0.1:{int(asks.stdout.read())}"
        admission = self.run_program("gpu-admission", f"--address={address}", "--pprofAddress=127.0.0.1:0", *flags,
                                     env={**os.environ, "LOG_LEVEL": "0"})

        def ready():
            """None: nobody listens yet."""
            try:
                return get(f"http://{address}/readyz")[0]
            except OSError:
                return None

        def asked_when_ready():
            if ready() != 200:
                return None
            return get(f"http://{address}/scheduler/predicates", question)

        status, answer = admission.until("ready", asked_when_ready)
        self.assertEqual(status, 200, answer)
        line = admission.line("msg=running")
        for part in ("lease=default/extender.gpu.scheduling", f"address={address}", f'quotas="ConfigMap kube-system/q, of {quota}"',
                     f"config={quota}"):
            self.assertIn(part, line)
        self.assertEqual(line.count(" address="), 1, line)
        pages = re.search(r"pages=(\S+)", line).group(1)
        self.assertIn("node ", get(f"http://{pages}/debug/ledger")[1])
        self.assertEqual(get(f"http://{address}/debug/ledger")[0], 404)
        self.assertEqual(admission.terminate(), 0)

    def test_a_peer_that_is_gone_ends_no_server_of_tls(self):
        key, cert = (os.path.join(self.folder.name, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", cert], capture_output=True, timeout=PATIENCE, check=True)
        server = self.run_program("gpu-sandbox", "serve", f"--kubeconfig-out={self.kubeconfig}.tls", f"--tls-cert-file={cert}",
                                  f"--tls-private-key-file={key}", "--no-scheduler")
        kubeconfig = server.until("a kubeconfig", lambda: os.path.exists(self.kubeconfig + ".tls") and
                                  pathlib.Path(self.kubeconfig + ".tls").read_text())
        port = int(re.search(r"https://127\.0\.0\.1:(\d+)", kubeconfig).group(1))
        trusts_all = ssl._create_unverified_context()
        for _ in range(20):
            with trusts_all.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE)) as peer:
                peer.sendall(b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n\r\n" * 70)
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # answers meet a reset
                os.close(peer.detach())
        with trusts_all.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE)) as peer:
            peer.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b" 200 ", peer.recv(4096))
        self.assertEqual(server.terminate(), 0)

    def test_a_gpu_that_is_not_there_is_told_which_are(self):
        for gpu in ("8", "-1", "x"):
            code, _, err = call("gpu-sandbox", "gpu", "fail", "node-b", gpu, f"--kubeconfig={self.kubeconfig}")
            self.assertEqual((code, err), (2, f"node node-b has no GPU {gpu}: it has 0-7\n"))


class Agent(unittest.TestCase):
    """gpu-scheduler-agent on an API server with one Node that nobody else speaks for."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        sandbox = self.run_program("gpu-sandbox", "serve", "--api-only", f"--kubeconfig-out={self.kubeconfig}")
        text = sandbox.until("a kubeconfig", lambda: os.path.exists(self.kubeconfig) and pathlib.Path(self.kubeconfig).read_text())
        self.server = re.search(r'http://[^"\s]+', text).group(0)
        for crd in CRDS.read_text().split("\n---\n"):
            name = re.search(r"^  name: (\S+)", crd, re.M).group(1)
            write(f"{self.server}/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=test", "PATCH", crd,
                  "application/apply-patch+yaml")
        write(f"{self.server}/api/v1/nodes", "POST", json.dumps({"metadata": {"name": "n"}}))

    def tearDown(self):
        self.doCleanups()
        self.folder.cleanup()

    def run_program(self, program, *arguments, **options):
        running = Running(self.folder.name, program, *arguments, **options)
        self.addCleanup(running.process.wait)
        self.addCleanup(running.process.kill)
        return running

    def run_agent(self, *arguments, **environment):
        return self.run_program("gpu-scheduler-agent", f"--kubeconfig={self.kubeconfig}", "--metrics-address=127.0.0.1:0",
                                "--poll-interval=20ms", "--driver-timeout=200ms", *arguments,
                                env={**os.environ, "NODE_NAME": "n", **environment})

    def status(self):
        code, text = get(f"{self.server}/apis/gpu.scheduling/v1/gpunodestatuses/n")
        return json.loads(text).get("status", {}) if code == 200 else {}

    def until(self, agent, what, holds):
        def found():
            status = self.status()
            return status if status and holds(status) else None
        return agent.until(what, found)

    def replace(self, path, text):
        """As a whole, so that nobody reads half of it."""
        pathlib.Path(path + ".new").write_text(text)
        os.replace(path + ".new", path)

    def test_a_simulated_node_is_published_and_falls_sick_as_its_file_says(self):
        file = os.path.join(self.folder.name, "nodes.yaml")
        self.replace(file, "nodes:\n- name: n\n  gpus: {count: 2, model: M}\n")
        agent = self.run_agent(f"--simulate={file}", "--enforce=env", "--publish-interval=100ms")
        status = self.until(agent, "published", lambda s: s["conditions"][0]["status"] == "True" and s["total"] == 2)
        self.assertEqual((status["healthy"], status["enforcement"], status["devices"][0]["model"]), (2, "env", "M"))
        self.until(agent, "a new look at containers", lambda s: s["observedTime"] > status["observedTime"])
        self.replace(file, "nodes:\n- name: n\n  gpus: {count: 2, health: [{id: 1, health: Unhealthy, reason: XID 79}]}\n")
        status = self.until(agent, "sick", lambda s: s["healthy"] == 1)
        self.assertEqual(status["devices"][1]["healthReason"], "XID 79")
        self.replace(file, "nodes: 7\n")
        status = self.until(agent, "in doubt", lambda s: s["healthy"] == 0)
        self.assertEqual([d["health"] for d in status["devices"]], ["Unknown", "Unhealthy"])
        pages = "http://" + re.search(r"pages=(\S+)", agent.line("msg=running")).group(1)
        code, text = get(pages + "/readyz?verbose")
        self.assertEqual(code, 200)
        self.assertIn("driver: " + file, text)
        self.assertIn('gpu_scheduler_agent_devices{health="Unhealthy"} 1\n', get(pages + "/metrics")[1])
        self.assertEqual(agent.terminate(), 0)

    def test_what_nvml_says_is_published_and_a_call_that_hangs_holds_up_nobody(self):
        script = os.path.join(self.folder.name, "script")
        whole = (ROOT / "test/nvml/dgx-h100.script").read_text()
        self.replace(script, whole)
        agent = self.run_agent(f"--nvml-library={NVML}", GS_FAKE_NVML=script)
        status = self.until(agent, "published", lambda s: s["healthy"] == 8)
        self.assertEqual((status["islands"], status["driverVersion"], status["devices"][3]["bandwidthGBps"]), (1, "550.54.15", 956))
        self.replace(script, (ROOT / "test/nvml/gpu-lost.script").read_text())
        status = self.until(agent, "lost", lambda s: s["healthy"] == 3)
        self.assertIn("GPU is lost", status["devices"][3]["healthReason"])
        self.assertIn("indices moved", status["devices"][4]["healthReason"])
        self.replace(script, (ROOT / "test/nvml/hanging.script").read_text())
        status = self.until(agent, "hanging", lambda s: s["healthy"] == 0)
        driver = next(c for c in status["conditions"] if c["type"] == "DriverAnswers")
        self.assertEqual((driver["status"], driver["reason"], status["total"]), ("False", "DriverHangs", 8))
        again = self.run_agent(f"--nvml-library={NVML}", GS_FAKE_NVML=script)  # started while it hangs
        again.line("has not answered")
        self.assertEqual(self.status()["total"], 8)
        self.assertEqual(again.terminate(), 0)
        self.replace(script, whole)
        self.until(agent, "well", lambda s: s["healthy"] == 8)
        self.assertEqual(agent.terminate(), 0)

    def test_without_a_driver_it_stays_up_and_says_so(self):
        agent = self.run_agent("--nvml-library=libnvidia-that-is-not-there.so.1")
        status = self.until(agent, "published", lambda s: s["conditions"])
        driver = next(c for c in status["conditions"] if c["type"] == "DriverAnswers")
        self.assertEqual((status["total"], driver["reason"]), (0, "DriverAbsent"))
        self.assertEqual(agent.terminate(), 0)

    def test_what_cannot_be_is_refused(self):
        for flags, answer in ((["--enforce=devices", "--nri-socket="], "--enforce=devices is done by the container runtime's NRI"),
                              (["--simulate=/not/there"], "--simulate: ")):
            code, _, err = call("gpu-scheduler-agent", "--node-name=n", *flags)
            self.assertEqual((code, answer in err), (2, True), err)
        done = subprocess.run([BIN / "gpu-scheduler-agent"], env={}, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, "the node has no name" in done.stderr), (2, True), done.stderr)

    def test_look_prints_what_would_be_published(self):
        done = subprocess.run([BIN / "gpu-scheduler-agent", "look", "--node-name=n", f"--nvml-library={NVML}"], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env={**os.environ, "GS_FAKE_NVML": str(ROOT / "test/nvml/hgx-a100.script")})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["status"]["devices"][7]["bandwidthGBps"], 600)
        code, out, err = call("gpu-scheduler-agent", "look", "--node-name=n", "--nvml-library=libnvidia-that-is-not-there.so.1")
        self.assertEqual((code, out, err.startswith("there is no NVIDIA driver: ")), (2, "", True))


if __name__ == "__main__":
    unittest.main()
