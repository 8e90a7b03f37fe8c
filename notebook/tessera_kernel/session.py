"""Runs cells: splits, compiles and loads them, and says what came of each. Nothing here knows of Jupyter."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from .process import Ended, Process, contents, described
from .program import Program, StaleName
from .splitter import NotSupported

GONE = "Its variables, functions and types are gone: run the cells again from the first one."
MOST_LINES = 30


@dataclasses.dataclass
class Failure:
    name: str
    text: str


class CellStopped(Exception):
    pass


class Session:
    """`output(stream, text)`, `display(contents)` and `result(contents)` are called while a cell runs."""

    def __init__(self, toolchain, output, display, result):
        self.toolchain, self.output, self.display, self.result = toolchain, output, display, result
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-kernel-"))
        self.prepared = None
        self.program = Program()
        self.process = None
        self.compiling = None
        self.interrupts, self.interrupted = 0, 0.0  # how many, and when the last one came
        self.lines = {}  # of each cell, how many

    def run(self, text, cell):
        """Runs a cell, and gives None or a Failure."""
        self.interrupts = 0
        label = f"cell {cell}"
        self.lines[label] = text.count("\n") + 1
        (self.folder / label).write_text(text)  # where the compiler finds the lines that it shows
        if self.prepared is None:
            self.prepared = self.toolchain.prepare(lambda text: self.output("stderr", text))
        if self.process is None:
            # Cells run in the folder of the notebook, which is the kernel's.
            self.process = Process(self.prepared / "runner", None, self.output)
        try:
            parts, whole = self.program.split(text)
            for group in self.program.stages(parts):
                if not group:
                    continue
                failure = self._stage(group, cell, label)
                if failure is not None:
                    return failure
            if whole:
                self.output("stderr", "The kernel's grammar cannot read this cell. It was run as the statements of a function, so what it defines "
                                      "ends with it.\n")
        except NotSupported as e:
            return Failure("NotSupported", f"{label}, line {e.line}: {e}.")
        except StaleName as e:
            return Failure("StaleName", str(e))
        except CellStopped:
            return Failure("Interrupted", "The cell was stopped before it ran.")
        return None

    def interrupt(self):
        """Stops the cell: once for its next loop or call, twice for the process."""
        self.interrupts += 1
        self.interrupted = time.monotonic()
        if self.compiling is not None:
            self.compiling.kill()
        elif self.process is not None:
            if self.interrupts > 1:
                self.process.child.kill()
            else:
                self.process.interrupt()

    def end(self):
        if self.process is not None:
            self.process.end()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stage(self, parts, cell, label):
        stage = self.program.source(parts, cell, label)
        source, target = self.folder / f"stage_{stage.number}.cc", self.folder / f"stage_{stage.number}.so"
        source.write_text(stage.source)
        problem = self._compile(source, target)
        if problem is not None:
            return Failure("CompileError", problem)
        types, failure = {}, None
        warned = False

        def tick():
            nonlocal warned
            if self.interrupts and not warned and time.monotonic() > self.interrupted + 2:
                warned = True
                self.output("stderr", "The cell is inside of a call that does not stop. Interrupt once more to end its process, which loses all "
                                      "variables.\n")
        try:
            for kind, texts in self.process.run(target, tick):
                if kind == "V":
                    types[texts[0]] = texts[1]
                elif kind == "D":
                    self.display(contents(texts[0]))
                elif kind == "R":
                    self.result(contents(texts[0]))
                elif kind == "I":
                    failure = Failure("Interrupted", "The cell was stopped. Variables that had their values before keep them.")
                elif kind == "E":
                    failure = Failure(*texts)
                elif kind == "L":
                    return Failure("LoadError", self._not_loaded(texts[0]))
        except Ended as ended:
            self.process.end()
            self.process = None
            self.program = Program()
            if self.interrupts > 1:
                return Failure("Interrupted", f"The process that ran the cell was ended. {GONE}")
            return Failure("Crashed", f"The process that ran the cell {described(ended.status)}. {GONE}")
        unset = {n for p in parts if p.kind == "variable" and ",".join(p.names) not in types for n in p.names}
        for part in parts:
            if not (unset and part.kind in ("function", "template") and part.words & unset):
                self.program.keep(part, cell, label, stage.number, types)
        return failure

    def _compile(self, source, target):
        """Compiles a source. Gives the compiler's text if it fails."""
        command = self.toolchain.command(self.prepared, source, target)
        self.compiling = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=self.folder,
                                          start_new_session=True)
        try:
            printed, _ = self.compiling.communicate()
            code = self.compiling.returncode
        finally:
            self.compiling = None
        if self.interrupts:
            raise CellStopped
        shown = self._readable(printed, source)
        if code:
            return shown
        if shown.strip():
            self.output("stderr", shown + "\n")
        return None

    def _readable(self, printed, source):
        """The compiler's text without lines about how the kernel made the source."""
        kept = []
        for line in printed.splitlines():
            if (place := re.match(r"(cell \d+):(\d+):\d+: (error: .*)", line)) and int(place[2]) > self.lines.get(place[1], 0):
                # Something is open at the end of the cell; what follows is about the kernel's text behind it.
                kept.append(f"{place[1]}, at its end: {place[3]}")
                break
            if re.match(r"\d+ errors? generated\.", line):
                continue
            if line.startswith(("In file included from", "cc1plus:")) or re.match(r"\s+from ", line):
                continue
            if re.search(r"In function .void notebook::|In function ‘void notebook::.*run_cell", line):
                continue
            line = line.replace(f"{self.folder}/", "")
            line = re.sub(r"notebook::stage_\d+::", "", line)
            line = re.sub(r"/usr/\S*/include/c\+\+/\d+/", "", line)
            kept.append(line)
        # Of a template's error, the compiler names the user's line last.
        first = next((line for line in kept if "error: " in line), "")
        asked = next((m for line in kept if (m := re.match(r"(cell \d+):(\d+):", line))), None)
        if first and not first.startswith("cell ") and asked:
            kept.insert(0, f"{asked[1]}, line {asked[2]}, leads to this error:")
        text = "\n".join(kept[:MOST_LINES])
        if len(kept) > MOST_LINES:
            text += f"\n... and {len(kept) - MOST_LINES} more lines of the compiler"
        return text

    @staticmethod
    def _not_loaded(text):
        symbol = re.search(r"undefined symbol: (\S+)", text)
        if not symbol:
            return text
        found = shutil.which("c++filt")
        name = symbol[1]
        if found:
            name = subprocess.run([found, name], stdout=subprocess.PIPE, text=True).stdout.strip() or name
        name = re.sub(r"notebook::stage_\d+::", "", name)
        return f"{name} is declared and nothing defines it."
