"""Compiles the snippets of docs/tasks.md and of docs/coming_from without running them: check_tasks.py COMPILER SOURCE_DIR [--plant].

Each snippet becomes a function of one source file, in which the names that the introduction of docs/tasks.md mentions are declared. A task
has a snippet of at most five lines, or a link. In docs/coming_from, a snippet of ours (cpp) stands behind one of the other library. With --plant, a snippet with a mistake is added, which the compiler must report in its line."""
import pathlib
import re
import subprocess
import sys
import tempfile

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
LEAST_TASKS, LEAST_SNIPPETS = 60, 50
PRELUDE = """#include <tessera/tessera.h>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
namespace ts = tessera;
using ts::Array;
struct Model { ts::nn::Linear hidden, out; };
inline Array loss(const Model& m, Array x, Array y) { return ts::mean(ts::square(m.out(ts::nn::relu(m.hidden(x))) - y)); }
inline Array f(Array x) { return ts::sin(x); }
"""
PARAMETERS = "[[maybe_unused]] Array x, [[maybe_unused]] Array y, [[maybe_unused]] Array a, [[maybe_unused]] Array b, [[maybe_unused]] Array key, " \
             "[[maybe_unused]] Array batch, [[maybe_unused]] Array labels, [[maybe_unused]] Model model"

page = root / "docs" / "tasks.md"
text = page.read_text()
if "--plant" in sys.argv[3:]:
    text += "\n### make a mistake\n\n```cpp\nArray wrong = ts::no_such_function(x);\n```\n"
bad, source, snippets = [], [PRELUDE], 0
tasks = list(re.finditer(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", text, re.S | re.M))
for number, task in enumerate(tasks):
    code = re.search(r"^```cpp\n(.*?)^```", task[2], re.S | re.M)
    if not code and not re.search(r"\]\([^)]+\)", task[2]):
        bad.append(f"docs/tasks.md: '{task[1]}' has neither a snippet nor a link")
    if not code:
        continue
    snippets += 1
    if code[1].count("\n") > 5:
        bad.append(f"docs/tasks.md: the snippet of '{task[1]}' has more than five lines")
    line = text[:task.start(2) + code.start(1)].count("\n") + 1
    source.append(f'void task_{number}({PARAMETERS}) {{\n#line {line} "docs/tasks.md"\n{code[1]}}}\n')
if len(tasks) < LEAST_TASKS or snippets < LEAST_SNIPPETS:
    bad.append(f"docs/tasks.md has {len(tasks)} tasks with {snippets} snippets only")
others = sorted((root / "docs" / "coming_from").glob("*.md"))
for other in others:
    text_there = other.read_text()
    pairs = re.findall(r"^```(\w+|c\+\+)\n", text_there, re.M)
    if any(first == "cpp" or second != "cpp" for first, second in zip(pairs[::2], pairs[1::2])) or len(pairs) % 2:
        bad.append(f"docs/coming_from/{other.name}: snippets do not stand in pairs, ours behind another library's")
    # A lambda or a struct may have parameters of the names that are declared.
    for code in re.finditer(r"^```cpp\n(.*?)^```", text_there, re.S | re.M):
        snippets += 1
        line = text_there[:code.start(1)].count("\n") + 1
        source.append(f'void other_{snippets}({PARAMETERS}) {{{{\n#line {line} "docs/coming_from/{other.name}"\n{code[1]}}}}}\n')
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "tasks.cc"
    path.write_text("\n".join(source))
    run = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-missing-field-initializers",
                          "-DTESSERA_STATIC", "-fsyntax-only", f"-I{root / 'include'}", str(path)], capture_output=True, text=True)
if "--plant" in sys.argv[3:]:
    found = run.returncode != 0 and f"docs/tasks.md:{text.count(chr(10)) - 1}:" in run.stderr and "no_such_function" in run.stderr
    print("the planted mistake is found" if found else f"the planted mistake is not found:\n{run.stderr[:2000]}")
    sys.exit(not found)
bad += run.stderr.splitlines()[:60] if run.returncode else []
print("\n".join(bad) or f"{len(tasks)} tasks and {len(others)} pages with {snippets} snippets that compile")
sys.exit(bool(bad))
