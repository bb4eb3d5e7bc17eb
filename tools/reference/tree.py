"""The files that the pages are made of, with some in place of others for the self-test."""

import os


class Tree:
    def __init__(self, root):
        self.root, self.instead = root, {}
        self.folders, self.texts = {}, {}  # what was read

    def with_(self, instead):
        """The same, but for these texts by name."""
        out = Tree(self.root)
        out.instead, out.folders, out.texts = instead, self.folders, self.texts
        return out

    def names(self, folder, endings):
        """From the root on, in order."""
        if folder not in self.folders:
            self.folders[folder] = [f"{os.path.relpath(where, self.root)}/{name}"
                                    for where, _, names in os.walk(self.root / folder) for name in names]
        found = {*self.folders[folder], *(name for name in self.instead if name.startswith(folder + "/"))}
        return sorted(name for name in found if name.endswith(endings))

    def text(self, name):
        """None: there is no such file."""
        if name in self.instead:
            return self.instead[name]
        if name not in self.texts:
            path = self.root / name
            self.texts[name] = path.read_text(errors="replace") if path.is_file() else None
        return self.texts[name]
