"""Outcomes and times of tests, kept in a folder: one file of JSON for each test file and side, `OUT/VERSION/SIDE/FILE.json`.

`SIDE` is `there` (jaxlib's own CPU client) or `here` (our plug-in). Beside each there is `FILE.txt` with the whole text of what failed."""
import json
import os

BAD = ("failed", "crashed", "hung", "swelled", "lost")


def version_folder(out, version, cases=1, x64=False):
    return out / (version + (f"-cases{cases}" if cases != 1 else "") + ("-x64" if x64 else ""))


class Store:
    def __init__(self, folder):
        self.folder = folder

    def _path(self, side, name):
        return self.folder / side / f"{name}.json"

    def load(self, side, name):
        """{"tests": {id: {"outcome", "seconds", "cpu", "error", "text"}}, "notes", "complete", "all", "devices"}; empty if nothing was run."""
        try:
            return json.loads(self._path(side, name).read_text())
        except FileNotFoundError:
            return {"tests": {}, "notes": [], "complete": False, "all": 0, "devices": 0}

    def names(self, side):
        return sorted(p.stem for p in (self.folder / side).glob("*.json"))

    def save(self, side, name, found):
        path = self._path(side, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(found, indent=0, sort_keys=True))
        os.replace(part, path)
        lines = list(found["notes"])
        for test, result in sorted(found["tests"].items()):
            if result["outcome"] in BAD:
                lines.append(f"==== {name}.py::{test}: {result['outcome']}\n{result['error']}\n{result['text']}\n")
        path.with_suffix(".txt").write_text("\n".join(lines))

    def add(self, side, name, results, notes, *, devices, all_tests=None, complete=False, start=False):
        """Adds results; `start` drops what an earlier run left, and `complete` says that all tests of the file now have a result."""
        found = self.load(side, name)
        if start:
            found["tests"], found["notes"], found["complete"] = {}, [], False
        found["tests"].update(results)
        found["notes"] += [n for n in notes if n not in found["notes"]]
        found["devices"] = devices
        found["all"] = all_tests or found["all"]
        found["complete"] = found["complete"] or complete
        self.save(side, name, found)


def compare(store, name):
    """([(id, there, here)] of the tests that ran on both sides, in the order of their ids)."""
    there, here = store.load("there", name)["tests"], store.load("here", name)["tests"]
    return [(test, there[test], here[test]) for test in sorted(there) if test in here]


def only_there(store, name):
    return [(test, here) for test, there, here in compare(store, name) if there["outcome"] == "passed" and here["outcome"] != "passed"]
