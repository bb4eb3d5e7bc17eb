"""Follows all pods of an API server, without a gap: what a watch that ended has not brought, the next one brings.

An API server ends watches: that of a reader that is slow for a moment, all of them when it ends itself, each after an
hour. The next watch begins where the last one stood. Where that is no longer in the server's history, versions would be
missing: then it fails, at once.
"""

import http.client
import json
import sys
import time
import urllib.parse

from api import Wrong

AWAY = 60  # seconds without any answer until it fails; a limit for broken programs, never a measure
PAUSE = 0.2


class Gone(Wrong):
    """The server has forgotten what came after the version that was asked for."""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Watcher:
    """`see(pod, kind)` is called for each pod of the first list, and for each version after it, in their order."""

    def __init__(self, url, see, path="/api/v1/pods"):
        self.address, self.path, self.see = urllib.parse.urlsplit(url).netloc, path, see
        self.version, self.watches = None, 0

    def answer(self, query, timeout):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        connection.request("GET", self.path + query)
        answer = connection.getresponse()
        if answer.status == 410:
            raise Gone(f"after version {self.version}: {answer.read().decode()[:300]}")
        if answer.status >= 500 or answer.status == 429:
            raise ConnectionError(f"{answer.status} {answer.read().decode()[:300]}")
        if answer.status != 200:
            raise Wrong(f"GET {self.path}{query}: {answer.status} {answer.read().decode()[:300]}")
        return answer

    def list(self):
        listed = json.loads(self.answer("", 30).read())
        for pod in listed["items"]:
            self.see(pod, "ADDED")
        self.version = listed["metadata"]["resourceVersion"]

    def watch_once(self):
        """Until this watch ends."""
        self.watches += 1
        for line in self.answer(f"?watch=true&allowWatchBookmarks=true&resourceVersion={self.version}", None):
            event = json.loads(line)
            kind, thing = event["type"], event["object"]
            if kind == "ERROR":
                raise Gone(f"after version {self.version}: {thing}") if thing.get("code") == 410 else ConnectionError(str(thing))
            if kind not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
                raise Wrong(f"the watch says {line.decode()[:200]}")
            self.version = thing["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self.see(thing, kind)

    def follow(self):
        """For ever; raises Wrong when it cannot go on."""
        self.list()
        answered = time.monotonic()
        while True:
            before = self.version
            try:
                self.watch_once()
                answered = time.monotonic()
                say(f"the watch ended at version {self.version}; the next one begins there")
            except (http.client.HTTPException, OSError, ValueError) as trouble:  # ValueError: half a line
                if self.version != before:
                    answered = time.monotonic()
                say(f"the watch broke at version {self.version}: {trouble}")
                if time.monotonic() - answered > AWAY:
                    raise Wrong(f"no watch for {AWAY} s: {trouble}") from trouble
            time.sleep(PAUSE)
