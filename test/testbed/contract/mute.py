#!/usr/bin/env python3
"""mute.py PORT CERTIFICATE KEY: an HTTPS server of 127.0.0.1 that hears every AdmissionReview, says "asked PATH USER", and
never answers."""

import http.server
import json
import ssl
import sys
import threading


class Mute(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        line = f'asked {self.path.partition("?")[0]} {review["request"]["userInfo"]["username"]}\n'
        sys.stdout.write(line)  # at once: others write beside it
        sys.stdout.flush()
        threading.Event().wait()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Mute)
    server.daemon_threads = True
    # Hands are shaken in each connection's own thread.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("listens", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
