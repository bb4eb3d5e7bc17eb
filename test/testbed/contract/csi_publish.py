#!/usr/bin/env python3
"""csi_publish.py SOCKET PODS UID VOLUME KEY=VALUE...: asks a CSI driver for a volume of a pod's own spec, as the kubelet does,
and prints where it is mounted. PODS is the kubelet's folder of pods; KEY=VALUE is the volume's attributes and what the kubelet
says of the pod. Fails with what the driver says. curl speaks HTTP/2; the messages are those of csi.proto, and short."""

import hashlib
import pathlib
import subprocess
import sys
import urllib.parse


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """One that has a length: a text, or a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def publish_request(volume_id, target, context):
    capability = field(2, b"") + field(3, b"\x08\x01")  # a mount; SINGLE_NODE_WRITER
    attributes = b"".join(field(8, field(1, key) + field(2, value)) for key, value in context.items())
    return field(1, volume_id) + field(4, target) + field(5, capability) + attributes


def main():
    socket, pods, uid, volume, *pairs = sys.argv[1:]
    context = dict(pair.split("=", 1) for pair in pairs)
    context |= {"csi.storage.k8s.io/ephemeral": "true", "csi.storage.k8s.io/pod.uid": uid}
    folder = pathlib.Path(pods, uid, "volumes/kubernetes.io~csi", volume)
    folder.mkdir(parents=True, exist_ok=True)
    target = str(folder / "mount")
    volume_id = "csi-" + hashlib.sha256((uid + volume).encode()).hexdigest()
    message = publish_request(volume_id, target, context)
    answer = subprocess.run(
        ["curl", "--silent", "--show-error", "--max-time", "60", "--http2-prior-knowledge", "--unix-socket", socket,
         "--header", "content-type: application/grpc", "--header", "te: trailers", "--data-binary", "@-",
         "--dump-header", "-", "--output", "/dev/null", "http://localhost/csi.v1.Node/NodePublishVolume"],
        input=b"\0" + len(message).to_bytes(4, "big") + message, capture_output=True)
    said = dict(line.split(": ", 1) for line in answer.stdout.decode().splitlines() if ": " in line)
    if said.get("grpc-status") != "0":
        sys.exit(f"NodePublishVolume: {urllib.parse.unquote(said.get('grpc-message', '')) or answer.stderr.decode() or said}")
    print(target)


if __name__ == "__main__":
    main()
