"""docs/reference/annotations.md: annotations, labels, finalizers, volume attributes and variables that others see.

A key is found as a constant whose text looks like one, as a text with one of our prefixes, or in the manifests of charts/,
deploy/ and argocd/. What it means is the comment of its constant; on what it is, who writes and who reads it, and how its
value looks stands in KEYS: each key that is found has a line there, and each line a key.
"""

import re

from reference.page import row

OURS = r"(?:gpu\.scheduling|sandbox\.gpu\.scheduling|gkm\.io|csi\.gkm\.io|tencent\.com)"
LOOKS_SO = re.compile(r"(?:[a-z0-9-]+\.)+[a-z0-9-]+/[\w.-]*\w-?|gpu-[a-z]+-[a-z]+|io\.kubernetes\.pod\.\w+")
NAMED_SO = re.compile(r"k\w*(?:Key|Label|Finalizer|Attribute|Annotation|Gpu|Core|Memory)")
LITERAL = re.compile(rf'"({OURS}/[A-Za-z][\w.-]*)"')
IN_MANIFEST = re.compile(rf"(?<![\w.]){OURS}/[A-Za-z][\w.-]*\w")
VERSION = re.compile(r".*/(?:v\d\w*|gpuclaims|gpunodestatuses)")  # of a kind: no key
OF_LEASES = re.compile(r'\bput\("([\w-]+)"')
OF_IMAGES = re.compile(r'labelOf\(type, (k\w+|"[\w-]+")\)|"((?:io\.kserve\.km|org\.opencontainers)[^"]*)"')
# Of Kubernetes or its other parts, in constants that are named like ours; neither written nor read by users for our sake.
NOT_OURS = ("src/apiserver/", "src/sandbox/controllers/", "src/process/", "src/net/")
VARIABLE = re.compile(r'\b(?:env|getenv|orEnv|envOr|valueOf|variable|environment)\((?:[\w.:]+, )*(?:"([A-Z][A-Z0-9_]+)"|((?:\w+::)*k\w+))\)')
VARIABLES_IN_TURN = re.compile(r"for \(const char\* name : \{([^}]*)\}\) \{\s*[^}]*\b(?:environment|env)\(name\)")
FROM_POD = re.compile(r"- (?:\{)?name: ([A-Z][A-Z0-9_]+)[^\n]*?(?:\n\s+)?(?:, )?valueFrom:")

GROUPS = ("On pods, by their users", "On pods, by our programs", "On nodes and GpuNodeStatus", "On leases", "On CRDs",
          "On caches and their node objects", "On PersistentVolumeClaims and PersistentVolumes", "In CSI volumes",
          "On Secrets", "In images of kernel caches", "Of others, which are read")
POD, OUR_POD, NODE, LEASE, CRD, CACHE, CLAIM, VOLUME, SECRET, IMAGE, OTHERS = GROUPS

# key: (group, kind and object, who writes it, who reads it, value, what it means where no constant says it)
KEYS = {
    "gpu.scheduling/claim": (POD, "annotation", "you", "gpu-scheduler, gpu-scheduler-webhook", "`my-claim`"),
    "gpu-scheduling-map": (POD, "annotation", "you; the chart gpu-scheduler-check", "gpu-scheduler, gpu-scheduler-webhook", "lines `0=node1:0,1`"),
    "sandbox.gpu.scheduling/run-for": (POD, "annotation", "you", "gpu-sandbox", "`30s`"),
    "sandbox.gpu.scheduling/exit-code": (POD, "annotation", "you", "gpu-sandbox", "`3`"),
    "nvidia.com/gpu": (POD, "limit of a container", "you; gpu-scheduler-webhook with `--inject-limits`", "all", "`2`"),
    "tencent.com/vcuda-core": (POD, "limit of a container", "you", "gpu-admission, gpu-scheduler", "`50`, `200`"),
    "tencent.com/vcuda-memory": (POD, "limit of a container", "you", "gpu-admission, gpu-scheduler", "`16`"),
    "gpu.scheduling/allocated": (OUR_POD, "annotation", "gpu-scheduler, with the Binding", "gpu-scheduler, gpu-scheduler-agent", "`node-a:0,1`"),
    "gpu.scheduling/visible-devices": (OUR_POD, "annotation", "gpu-scheduler, with the Binding",
                                       "containers, by a fieldRef; gpu-scheduler, gpu-scheduler-agent", "`0,1`"),
    "gpu.scheduling/reservation": (OUR_POD, "annotation", "gpu-scheduler, with the Binding", "gpu-scheduler", "a UUID"),
    "gpu.scheduling/fence": (OUR_POD, "annotation", "gpu-scheduler, gpu-admission", "gpu-scheduler", "a UUID"),
    "gpu.scheduling/wake": (OUR_POD, "annotation", "gpu-scheduler, gpu-admission", "kube-scheduler, as a change of the pod", "a UUID"),
    "tencent.com/predicate-node": (OUR_POD, "annotation", "gpu-admission, gpu-scheduler with `--extender-address`", "gpu-manager, and both again", "`node-a`"),
    "tencent.com/predicate-time": (OUR_POD, "annotation", "likewise", "likewise", "nanoseconds since 1970"),
    "tencent.com/predicate-gpu-idx-": (OUR_POD, "annotation", "likewise; gpu-manager", "likewise", "`tencent.com/predicate-gpu-idx-0: 0,1`"),
    "tencent.com/gpu-assigned": (OUR_POD, "annotation", "likewise; gpu-manager", "likewise", "`false`, `true`"),
    "gpu.scheduling/enforcer": (NODE, "label of a Node", "you", "gpu-scheduler, gpu-admission", "`agent`, `kubelet`, `gpu-manager`, `hami`, `gpushare`"),
    "gpu-node-name": (NODE, "label of a Node", "you", "gpu-scheduler", "`node1`"),
    "gpu.scheduling/agent": (NODE, "label of a Node", "you", "the DaemonSet of deploy/agent", "any",
                             "The agent runs there, as on nodes with `nvidia.com/gpu.present=true`."),
    "gpu.scheduling/boot-id": (NODE, "annotation of a GpuNodeStatus", "gpu-scheduler-agent; you take it off", "gpu-scheduler-agent", "a UUID"),
    "gpu.scheduling/managed": (LEASE, "label of a Lease", "gpu-scheduler", "gpu-scheduler", "`true`"),
    "gpu.scheduling/pod": (LEASE, "label of a Lease", "gpu-scheduler", "you", "the name, shortened to 63 bytes"),
    "gpu.scheduling/format": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "a number", "Which form the lease has ([upgrades](../use/upgrades.md))."),
    "gpu.scheduling/node": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`node-a`", "The node of the GPU."),
    "gpu.scheduling/gpu": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`0`", "The id of the GPU."),
    "gpu.scheduling/uuid": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`GPU-...`", "Its UUID, where it has one."),
    "gpu.scheduling/pod-namespace": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`team-a`", "The namespace of the pod that has the GPU."),
    "gpu.scheduling/pod-name": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`train-0`", "Its name."),
    "gpu.scheduling/pod-uid": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "a UUID", "Its uid."),
    "gpu.scheduling/devices": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler", "`node-a:0,1`", "All GPUs of that reservation."),
    "gpu.scheduling/holders": (LEASE, "annotation of a Lease", "gpu-scheduler", "gpu-scheduler",
                               "JSON: a list of uid, namespace, name, milli, mib, reservation and devices"),
    "gpu.scheduling/address": (LEASE, "annotation of a leader lease", "gpu-scheduler, gpu-admission", "the other replicas", "`http://10.1.2.3:3456`"),
    "gpu.scheduling/holder-container": (LEASE, "annotation of a leader lease", "gpu-scheduler, with `--leader-elect-container`", "the other replica",
                                        "`<namespace>/<pod>/<uid>/<container>`"),
    "gpu.scheduling/lease-namespace": (CRD, "annotation of the CRD gpuclaims.gpu.scheduling", "gpu-scheduler", "gpu-scheduler, the chart", "`gpu-scheduler`"),
    "gpu.scheduling/lease-namespace-term": (CRD, "likewise", "gpu-scheduler", "gpu-scheduler", "a UUID"),
    "gpu.scheduling/lease-namespace-scheduler": (CRD, "likewise; annotation of a leader lease", "gpu-scheduler", "gpu-scheduler, the chart", "`gpu-scheduler`"),
    "gpu.scheduling/schema-version": (CRD, "annotation of each CRD of the charts", "the charts", "`gpu-scheduler crds apply`", "`2`"),
    "gkm.io/resolvedDigest": (CACHE, "annotation of a cache", "gkm-operator's webhook", "gkm-operator, gkm-agent", "`sha256:...`"),
    "gkm.io/mutationSig": (CACHE, "annotation of a cache", "gkm-operator's webhook", "gkm-operator's webhook", "a keyed hash"),
    "gkm.io/lastMutatedBy": (CACHE, "annotation of a cache", "gkm-operator's webhook", "you", "a user's name"),
    "gkm.io/signature-format": (CACHE, "label of a GKMCache", "you, for Kyverno", "policies of Kyverno; none of our programs", "`cosign-v2`, `cosign-v3`"),
    "kyverno.io/verify-images": (CACHE, "annotation of a GKMCache", "Kyverno", "gkm-operator's webhook, with `--kyverno`", "JSON"),
    "gkm.io.gkmcachenode/finalizer": (CACHE, "finalizer of a GKMCache", "gkm-operator", "gkm-operator", ""),
    "gkm.io.clustergkmcachenode/finalizer": (CACHE, "finalizer of a ClusterGKMCache", "gkm-operator", "gkm-operator", "",
                                             "The same, of a ClusterGKMCache."),
    "gkm.io.<cache>/finalizer": (CACHE, "finalizer of a GKMCacheNode, ClusterGKMCacheNode", "gkm-agent", "gkm-operator, gkm-agent", "",
                                 "The node has, or is about to have, files of that cache."),
    "gkm.io/fetch-first": (CACHE, "annotation of a GKMCacheNode, ClusterGKMCacheNode", "gpu-scheduler", "gkm-agent", "`2026-11-26T14:00:00Z vectors,weights`"),
    "kubernetes.io/hostname": (CACHE, "label of a GKMCacheNode, ClusterGKMCacheNode", "gkm-agent", "gkm-agent", "`node-a`"),
    "gkm.io/managed": (CLAIM, "label", "gkm-operator", "gkm-operator", "`true`"),
    "gkm.io/volume-handle": (CLAIM, "annotation", "gkm-operator", "gkm-operator", "`gkmcache/team-a/vectors`"),
    "gkm.io/cache-uid": (CLAIM, "annotation", "gkm-operator", "gkm-operator", "a UUID"),
    "csi.gkm.io/GKMCache": (VOLUME, "`volumeAttributes`", "you; gkm-operator, in its PersistentVolumes", "gkm-csi, gpu-scheduler", "`vectors`"),
    "csi.gkm.io/namespace": (VOLUME, "`volumeAttributes`", "likewise", "gkm-csi, gpu-scheduler", "`team-a`"),
    "csi.gkm.io/mountPath": (VOLUME, "`volumeAttributes`", "you", "gkm-csi", "`/cache`"),
    "csi.storage.k8s.io/ephemeral": (VOLUME, "`volumeAttributes`", "the kubelet", "gkm-csi", "`true`", "The volume is an inline one."),
    "csi.storage.k8s.io/pod.name": (VOLUME, "`volumeAttributes`", "the kubelet", "gkm-csi", "", "The pod, by `podInfoOnMount`."),
    "csi.storage.k8s.io/pod.namespace": (VOLUME, "`volumeAttributes`", "the kubelet", "gkm-csi", "", "Its namespace."),
    "csi.storage.k8s.io/pod.uid": (VOLUME, "`volumeAttributes`", "the kubelet", "gkm-csi", "", "Its uid."),
    "app.kubernetes.io/managed-by": (SECRET, "label", "gpu-scheduler-webhook, gkm-operator", "both", "`gpu-scheduler-webhook`, `gkm-operator`",
                                     "Who made the Secret with the certificate or key; one of somebody else is shown as it is, and not renewed."),
    "gpu.scheduling/repository": (SECRET, "annotation of a cluster's Secret of Argo CD", "you", "the ApplicationSets of argocd/", "`https://...`",
                                  "The Git repository that Applications read from ([argocd.md](../use/argocd.md))."),
    "gpu.scheduling/revision": (SECRET, "annotation of a cluster's Secret of Argo CD", "you", "the ApplicationSets of argocd/", "`v0.1.0`",
                                "Its branch, tag or commit; without it `HEAD`."),
    "cache.TYPE.image/entry-count": (IMAGE, "label of the image; TYPE is triton or vllm", "mcv", "mcv, gkm-agent", "`7`", "How many entries the cache has."),
    "cache.TYPE.image/summary": (IMAGE, "likewise", "mcv", "mcv, gkm-agent", "JSON", "For which GPUs it was compiled."),
    "cache.TYPE.image/cache-size-bytes": (IMAGE, "likewise", "mcv", "mcv, gkm-agent", "`123456`", "Bytes of its files."),
    "cache.vllm.image/format": (IMAGE, "label of an image of vLLM", "mcv", "you", "`binary`, `unpacked`", "The forms of its artifacts, several with ',' between them."),
    "io.kserve.km/framework": (IMAGE, "label of an image of vLLM", "mcv", "KServe", "`vllm`", "What made the cache."),
    "io.kserve.km/cache-type": (IMAGE, "label of an image of vLLM", "mcv", "KServe", "`torch-compile`", "Of which kind it is."),
    "io.kserve.km/cache-hash": (IMAGE, "label of an image of vLLM", "mcv", "KServe", "hashes", "Of its entries, with ',' between them."),
    "io.kserve.km/cache-mount-subpath": (IMAGE, "label of an image of vLLM", "mcv", "KServe", "a path",
                                         "The folder in the image that has all of the cache; without it that is the root."),
    "io.kserve.km/cache-root-env": (IMAGE, "label of an image of vLLM", "mcv", "KServe", "`VLLM_CACHE_ROOT=...`", "Where the paths in its files lead."),
    "org.opencontainers.image.title": (IMAGE, "label of the image", "mcv", "you", "", "The last part of the image's name, without a tag."),
    "dev.cosignproject.cosign/signature": (IMAGE, "annotation of a signature's layer", "cosign, `mcv sign`", "gkm-operator, gkm-agent, mcv", "base64", "The signature."),
    "dev.sigstore.cosign/certificate": (IMAGE, "annotation of a signature's layer", "cosign", "gkm-operator, gkm-agent, mcv", "PEM", "The certificate of its key."),
    "dev.sigstore.cosign/bundle": (IMAGE, "annotation of a signature's layer", "cosign", "gkm-operator, gkm-agent, mcv", "JSON", "The entry of the transparency log."),
    "dev.sigstore.cosign/rfc3161timestamp": (IMAGE, "annotation of a signature's layer", "cosign", "gkm-operator, gkm-agent, mcv", "JSON", "A signed time."),
    "dev.sigstore.bundle.predicateType": (IMAGE, "annotation of a bundle's artifact", "cosign, `mcv sign`", "gkm-operator, gkm-agent, mcv", "a URL"),
    "dev.sigstore.bundle.content": (IMAGE, "annotation of a bundle's artifact", "cosign, `mcv sign`", "cosign", "`dsse-envelope`", "What the bundle holds."),
    "org.opencontainers.image.ref.name": (IMAGE, "annotation in an OCI layout", "mcv, other builders", "mcv", "`v1`", "The image's tag."),
    "io.containerd.image.name": (IMAGE, "annotation in an OCI layout", "mcv, other builders", "mcv", "`quay.io/a/b:v1`", "The image's whole name."),
    "scheduling.k8s.io/group-name": (OTHERS, "annotation of a Pod", "Volcano", "gpu-admission", "a PodGroup", "The pods of one gang."),
    "scheduling.volcano.sh/group-name": (OTHERS, "annotation of a Pod", "Volcano", "gpu-admission", "a PodGroup", "The same."),
    "scheduling.x-k8s.io/pod-group": (OTHERS, "label of a Pod", "you, for coscheduling", "gpu-admission", "a PodGroup", "The same."),
    "kubernetes.io/config.mirror": (OTHERS, "annotation of a mirror pod", "the kubelet", "gkm-agent", "a hash", "The uid that its kubelet gave a static pod."),
    "gaia.tencent.com/gpu-model": (OTHERS, "label of a Node", "you", "gpu-admission, gpu-scheduler", "`V100`",
                                   "Its GPUs' model, for [quotas](../use/extender.md#quotas-by-gpu-model); the ConfigMap may name another label."),
    "gaia.tencent.com/gpu-pool": (OTHERS, "label of a Node", "you", "gpu-admission, gpu-scheduler", "", "Its pool, likewise."),
    "io.kubernetes.pod.name": (OTHERS, "label of a container, at the runtime", "the kubelet", "gpu-scheduler-agent", "", "Its pod."),
    "io.kubernetes.pod.namespace": (OTHERS, "label of a container, at the runtime", "the kubelet", "gpu-scheduler-agent", "", "The pod's namespace."),
    "io.kubernetes.pod.uid": (OTHERS, "label of a container, at the runtime", "the kubelet", "gpu-scheduler-agent", "", "The pod's uid."),
}

# variable: (whose, what it is)
VARIABLES = {
    "CUDA_VISIBLE_DEVICES": ("containers of pods with GPUs, by gpu-scheduler-webhook or you; gpu-scheduler-check logs it",
                             "the GPUs of the container: ids or UUIDs, with ',' between them"),
    "CUDA_DEVICE_ORDER": ("the same containers, by gpu-scheduler-webhook (`--device-order`)", "the order in which CUDA counts GPUs: `PCI_BUS_ID`"),
    "NVIDIA_VISIBLE_DEVICES": ("containers of such pods", "others by which a container is shown some GPUs only: gpu-scheduler-webhook warns of them"),
    "ROCR_VISIBLE_DEVICES": ("the same", "the same"),
    "HIP_VISIBLE_DEVICES": ("the same", "the same"),
    "GPU_DEVICE_ORDINAL": ("the same", "the same"),
    "KUBECONFIG": ("all that talk to an API server", "kubeconfig files, with ':' between them, where no --kubeconfig is given"),
    "KUBERNETES_SERVICE_HOST": ("the same, in a pod", "the API server, as the kubelet says it"),
    "KUBERNETES_SERVICE_PORT": ("the same, in a pod", "its port"),
    "LOG_LEVEL": ("gpu-admission", "debug, info, warn, error, or a number of klog, where no -v is given"),
    "GO_LOG": ("gkm-operator, gkm-agent, gkm-csi", "info, debug or trace, where no --log-level is given"),
    "POD_IP": ("gpu-admission, gpu-scheduler with `--extender-address`", "where the other replica reaches this one, where no --advertise-address is given"),
    "POD_NAME": ("gpu-scheduler in the charts and deploy/", "part of `--leader-elect-container`; of gpu-scheduler-check, for you"),
    "POD_NAMESPACE": ("the same", "the same"),
    "POD_UID": ("gpu-scheduler in the charts and deploy/", "part of `--leader-elect-container`"),
    "NODE_NAME": ("gpu-scheduler-agent, gpu-scheduler-check", "the node; the agent's without a flag"),
    "HOSTNAME": ("gpu-scheduler-agent", "the same, where there is no NODE_NAME"),
    "KUBE_NODE_NAME": ("gkm-agent, gkm-csi", "the node, where no --node-name is given"),
    "NO_GPU": ("gkm-agent", "`true`: no GPU is looked for"),
    "CSI_ENDPOINT": ("gkm-csi", "the socket, where no --endpoint is given"),
    "KYVERNO_VERIFICATION_ENABLED": ("gkm-operator", "`true`, `1`, `yes`: as --kyverno"),
    "MUTATION_SIGNING_KEY": ("gkm-operator; field of the Secret gkm-webhook-key", "the key of `gkm.io/mutationSig`, 16 bytes or more"),
    "LOG_INTERVAL": ("gpu-scheduler-check", "seconds between two lines"),
    "REGISTRY_AUTH_FILE": ("mcv, gkm-operator, gkm-agent", "a file with credentials of registries"),
    "DOCKER_CONFIG": ("the same", "the folder of docker's config.json"),
    "XDG_RUNTIME_DIR": ("the same; gpu-sandbox", "the folder with containers/auth.json; where the sandbox keeps its kubeconfig"),
    "HOME": ("the same", "the folder with .docker/config.json; that of caches"),
    "TRITON_CACHE_DIR": ("mcv", "where Triton has its cache"),
    "TRITON_HOME": ("mcv", "the folder that has .triton/cache"),
    "VLLM_CACHE_ROOT": ("mcv", "where vLLM has its cache"),
    "XDG_CACHE_HOME": ("mcv", "the folder that has vllm"),
    "HTTPS_PROXY": ("all that talk to an API server or a registry", "the proxy, where no other is named"),
    "NO_PROXY": ("the same", "hosts that are asked without it"),
    "COSIGN_PASSWORD": ("mcv", "of the private key that signs"),
}


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
        for match in LITERAL.finditer(file.text) if any(word in file.text for word in ('"gpu.', '"sandbox.', '"gkm.', '"csi.', '"tencent.')) else ():
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
        for file_name, key in (("src/kapi/decode_pod.cc", "scheduling.k8s.io/group-name"), ("src/kapi/decode_pod.cc", "scheduling.volcano.sh/group-name"),
                               ("src/kapi/decode_pod.cc", "scheduling.x-k8s.io/pod-group"), ("src/operator/node/pod_watch.cc", "kubernetes.io/config.mirror"),
                               ("src/model/quota.h", "gaia.tencent.com/gpu-model"), ("src/model/quota.h", "gaia.tencent.com/gpu-pool"),
                               ("src/cacherim/image/oci_layout.cc", "org.opencontainers.image.ref.name"),
                               ("src/cacherim/image/oci_layout.cc", "io.containerd.image.name"), ("src/kcache/kinds/names.cc", "gkm.io."),
                               ("src/kcache/trust/bundle.h", "dev.sigstore.bundle.predicateType"), ("src/cacherim/trust/sign.cc", "dev.sigstore.bundle.content"), ("src/admission/certificates.cc", "app.kubernetes.io/managed-by")):
            file = self.sources.named(file_name)
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
        where = "tools/reference/annotations.py"
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
