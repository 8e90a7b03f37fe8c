"""Why a test passes only on jaxlib: a sentence of reasons.toml, or a class that follows from the error's text."""
import fnmatch
import re
import tomllib

WRONG = "A value is wrong"
_MISMATCH = re.compile(r"Mismatched elements|Not equal to tolerance|Arrays are not (?:almost )?equal|not close|x and y \S+ location mismatch")
_CODE = re.compile(r"(?:[\w.]*Error|[\w.]*Exception): (?P<code>[A-Z]+(?:_[A-Z]+)*): (?P<text>.*)", re.S)


def load(path):
    """The entries of reasons.toml: [{"tests": [pattern], "error": regex or "", "why": sentence}]."""
    entries = tomllib.loads(path.read_text()).get("reason", []) if path.exists() else []
    for entry in entries:
        unknown = set(entry) - {"tests", "error", "why"}
        if unknown or not entry.get("tests") or not entry.get("why"):
            raise SystemExit(f"jax_tests: {path.name}: an entry needs `tests` and `why`, may have `error`, and has {sorted(entry)}")
        entry.setdefault("error", "")
    return entries


def _short(text, size=160):
    """The first sentence or line, with numbers and quoted names left out, so that equal causes have equal texts."""
    line = next((part.strip() for part in text.split("\n") if part.strip()), "")
    line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'…'", line)
    line = re.sub(r"0x[0-9a-f]+|\d+", "N", line)
    line = re.sub(r"\[[N, ]*\]|\([N, ]+\)", "[…]", line)
    return line if len(line) <= size else line[:size].rsplit(" ", 1)[0] + " …"


def automatic(result):
    """The class of a result that did not pass, from its outcome and its error."""
    outcome, error = result["outcome"], result["error"]
    if outcome == "skipped":
        return f"Skipped: {_short(error).removeprefix('Skipped: ')}"
    if outcome in ("crashed", "hung", "swelled", "lost"):
        return _short(error)[:1].upper() + _short(error)[1:]
    if _MISMATCH.search(error):
        return WRONG
    if m := _CODE.search(error):
        return f"{m['code']}: {_short(m['text'])}"
    return _short(error)


def of(entries, name, test, result):
    """(the sentence or class, whether reasons.toml has it)."""
    full = f"{name}.py::{test}"
    for entry in entries:
        if any(fnmatch.fnmatchcase(full, pattern) for pattern in entry["tests"]) and re.search(entry["error"], result["error"]):
            entry["used"] = True
            return entry["why"], True
    return automatic(result), False
