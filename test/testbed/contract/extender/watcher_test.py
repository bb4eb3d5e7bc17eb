#!/usr/bin/env python3
"""Tests of watcher.py against a small server whose answers are told to it."""

import http.server
import io
import json
import sys
import threading
import unittest
from contextlib import redirect_stderr

import watcher
from api import Wrong

sys.dont_write_bytecode = True


class Done(Exception):
    """Enough was seen."""


def pod(name, version):
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def event(kind, name, version):
    return json.dumps({"type": kind, "object": pod(name, version)}) + "\n"


GONE = json.dumps({"type": "ERROR", "object": {"code": 410, "message": "too old"}}) + "\n"


class Script(http.server.BaseHTTPRequestHandler):
    """server.answers: what each watch in turn is answered, (status, body); its queries are kept."""

    def do_GET(self):
        if "watch=" not in self.path:
            status, body = 200, json.dumps({"metadata": {"resourceVersion": "5"}, "items": [pod("a", 3)]})
        else:
            self.server.asked.append(self.path.split("resourceVersion=")[1])
            status, body = self.server.answers.pop(0) if self.server.answers else (410, "no more answers")
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class WatcherTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
        self.server.asked, self.server.answers = [], []
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        watcher.PAUSE = 0

    def follow(self, *answers, until=99):
        """What was seen, what was asked, and the text of the end."""
        self.server.answers, seen = list(answers), []

        def see(thing, kind):
            seen.append(f"{kind} {thing['metadata']['name']}{thing['metadata']['resourceVersion']}")
            if len(seen) == until:
                raise Done()

        one = watcher.Watcher(f"http://127.0.0.1:{self.server.server_address[1]}", see)
        with redirect_stderr(io.StringIO()):
            try:
                one.follow()
            except (Wrong, Done) as end:
                return seen, self.server.asked, type(end).__name__ + " " + str(end)

    def test_a_watch_that_ends_is_followed_by_one_that_begins_where_it_stood(self):
        seen, asked, _ = self.follow((200, event("ADDED", "b", 6)), (200, ""), (200, event("MODIFIED", "a", 9)), until=3)
        self.assertEqual(seen, ["ADDED a3", "ADDED b6", "MODIFIED a9"])
        self.assertEqual(asked, ["5", "6", "6"])

    def test_half_a_line_is_asked_for_again(self):
        seen, asked, _ = self.follow((200, event("ADDED", "b", 6) + event("ADDED", "c", 7)[:20]), (200, event("ADDED", "c", 7)), until=3)
        self.assertEqual(seen, ["ADDED a3", "ADDED b6", "ADDED c7"])
        self.assertEqual(asked, ["5", "6"])

    def test_a_bookmark_is_no_change_and_moves_on(self):
        seen, asked, _ = self.follow((200, event("BOOKMARK", "", 8)), (200, event("DELETED", "a", 9)), until=2)
        self.assertEqual(seen, ["ADDED a3", "DELETED a9"])
        self.assertEqual(asked, ["5", "8"])

    def test_it_fails_at_once_when_versions_are_missing(self):
        for answer in ((410, "too old"), (200, GONE)):
            seen, _, end = self.follow(answer)
            self.assertEqual(seen, ["ADDED a3"])
            self.assertRegex(end, "^Gone after version 5: .*too old")

    def test_a_server_that_is_away_is_asked_again(self):
        seen, _, _ = self.follow((500, "later"), (429, "later"), (200, event("ADDED", "b", 6)), until=2)
        self.assertEqual(seen, ["ADDED a3", "ADDED b6"])

    def test_a_server_that_stays_away_is_an_error(self):
        watcher.AWAY, kept = -1, watcher.AWAY
        self.addCleanup(lambda: setattr(watcher, "AWAY", kept))
        self.assertRegex(self.follow((500, "etcd is away"))[2], "^Wrong no watch for .*etcd is away")

    def test_what_will_never_do_is_an_error(self):
        self.assertRegex(self.follow((403, "forbidden"))[2], "^Wrong GET .*403 forbidden")


if __name__ == "__main__":
    unittest.main()
