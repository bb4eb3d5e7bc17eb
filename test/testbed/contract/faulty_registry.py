#!/usr/bin/env python3
"""faulty_registry.py PORT FOLDER: a registry of 127.0.0.1 whose images are each wrong in the way that their name says, until
there is a file FOLDER/mended. Writes FOLDER/images ("NAME DIGEST" a line) and then says "listens".

What a fault does lies in the answers, but for the bombs, which are what their digests say.
"""

import gzip
import hashlib
import http.server
import json
import pathlib
import random
import re
import sys
import threading

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
GZIP, PLAIN = "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.layer.v1.tar"
KEY = "io.triton.cache/MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A"
MIB = 1 << 20
FOLDER = pathlib.Path(sys.argv[2])
NOISE = random.Random(1)


def header(name, size, kind=b"0"):
    """Of a tar file; written here, since tarfile makes no entry that lies."""
    digits = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    parts = [name.encode().ljust(100, b"\0"), b"0000644\0", b"0000000\0" * 2, digits, b"00000000000\0", b" " * 8, kind, b"\0" * 100,
             b"ustar\x0000"]
    out = bytearray(b"".join(parts).ljust(512, b"\0"))
    out[148:156] = b"%06o\0 " % sum(out)
    return bytes(out)


def tar(*entries):
    return b"".join(header(name, len(data)) + data + b"\0" * (-len(data) % 512) for name, data in entries) + b"\0" * 1024


def honest(size=0):
    """A cache with so many bytes that do not get smaller."""
    return tar((f"{KEY}/add_kernel.json", b'{"hash":"1","target":{"backend":"hip","arch":"gfx90a","warp_size":64}}'),
               (f"{KEY}/add_kernel.hsaco", NOISE.randbytes(size)))


def many(count):
    """Beside the cache, where they are counted and not written."""
    return b"".join(header(f"more/{number}", 0) for number in range(count)) + b"\0" * 1024


class Image:
    def __init__(self, name, layer, media_type=GZIP):
        self.layer = gzip.compress(layer, 1, mtime=0) if media_type == GZIP else layer
        self.config = json.dumps({"architecture": "amd64", "os": "linux", "image": name, "config": {"Labels": {
            "cache.triton.image/summary": '{"targets":[{"backend":"hip","arch":"gfx90a","warp_size":64}]}'}}}).encode()
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described(
            "application/vnd.oci.image.config.v1+json", self.config), "layers": [described(media_type, self.layer)]}).encode()
        self.asked = 0  # for its layer


def described(media_type, data):
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


IMAGES = {name: Image(name, honest(1000)) for name in ("good", "later", "small", "cuts", "lies", "lies-about-manifest", "lies-about-length")}
IMAGES |= {name: Image(name, honest(500_000)) for name in ("cuts-often", "stalls")}
IMAGES["full"] = Image("full", honest(16 * MIB), PLAIN)
IMAGES["bomb-ratio"] = Image("bomb-ratio", tar((f"{KEY}/zeros", b"\0" * (128 * MIB))))
IMAGES["bomb-count"] = Image("bomb-count", many(140_000))
IMAGES["bomb-size"] = Image("bomb-size", header(f"{KEY}/huge", 70 << 30) + b"\0" * MIB)
IMAGES["climbs"] = Image("climbs", tar((f"{KEY}/../../../../etc/cron.d/x", b"evil")))


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/v2/":
            return self.answer(200, b"{}")
        found = re.fullmatch(r"/v2/gkm/([a-z-]+)/(?:manifests|blobs)/(\S+)", self.path)
        image = IMAGES.get(found[1]) if found else None
        if image is None:
            return self.answer(404, b"{}")
        fault = "" if (FOLDER / "mended").exists() else found[1]
        if found[2] == digest(image.config):
            return self.answer(200, image.config)
        if found[2] == digest(image.layer):
            image.asked += 1
            return self.give_layer(image, fault)
        changed = image.manifest.replace(b'"schemaVersion"', b' "schemaVersion"')
        return self.answer(200, changed if fault == "lies-about-manifest" else image.manifest, MANIFEST)

    do_HEAD = do_GET

    def give_layer(self, image, fault):
        data = image.layer
        if fault == "lies":
            data = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        if fault == "lies-about-length":
            data += b"more"
        if fault == "cuts":
            return self.answer(200, data, most=1000)
        first = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(first[1]) if first else 0
        more = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if first else {}
        most = {"cuts-often": 100_000, "stalls": len(data) // 2 if image.asked == 1 else None}.get(fault)
        self.answer(206 if first else 200, data[begin:], most=most, more=more)
        if fault == "stalls" and image.asked == 1:
            threading.Event().wait()

    def answer(self, status, data, media_type="application/octet-stream", most=None, more=None):
        self.send_response(status)
        for name, value in {"Content-Type": media_type, "Content-Length": str(len(data)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[:most])
            self.wfile.flush()
        self.close_connection = most is not None and most < len(data)


def main():
    (FOLDER / "images").write_text("".join(f"{name} {digest(image.manifest)}\n" for name, image in IMAGES.items()))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Registry)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # who is refused goes without a word
    print("listens", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
