#!/usr/bin/env python3
"""mute.py PORT CERTIFICATE KEY: an HTTPS server of 127.0.0.1 that hears every request, says "asked", and never answers."""

import http.server
import ssl
import sys
import threading


class Mute(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("asked", flush=True)
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
