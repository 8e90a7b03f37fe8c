"""Programs of the previous version work with this one: previous.py COMPILER SHARED_LIBRARY WORK [--plant], or previous.py --write.

The previous version is the newest folder beside this file. Its headers are unpacked, and

* each program of programs/ is compiled with them, linked with the current shared library, and run: it prints what its .txt says;
* each program compiles with the current headers;
* each class of the old public headers has the same size, alignment and table of virtual functions in the current ones. Members that were
  added to a struct of options, for instance, break programs that are linked with the library, though no symbol is gone;
* each symbol of the old list is in the current one (tests/package/symbols.txt, which the test `symbols` compares with the library).

Within a minor version all of this is promised; with a new minor version, only programs that are compiled anew have to work, and the
changelog may take back even that. With --plant, differences are made on purpose, which must be found. With --write, the headers and the
symbols of the current sources become the previous version's."""
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
SYMBOLS = "tests/package/symbols.txt"


def version():
    """The first two numbers of the current version."""
    return ".".join(re.findall(r"#define TESSERA_VERSION_M[A-Z]+ (\d+)", (root / "include/tessera/config.h").read_text()))


def previous():
    found = [p.parent for p in here.glob("*/headers.tar.xz")]
    return max(found, key=lambda p: [int(n) for n in p.name.split(".")])


def write():
    folder = here / version()
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "headers.tar.xz", "w:xz", preset=9) as tar:
        for path in sorted((root / "include/tessera").rglob("*.h")) + [root / SYMBOLS]:
            entry = tarfile.TarInfo(str(path.relative_to(root)))
            data = path.read_bytes()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    print(f"wrote {folder.relative_to(root)}/headers.tar.xz, {(folder / 'headers.tar.xz').stat().st_size} bytes")


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    return done.returncode, done.stdout + done.stderr


class Programs:
    def __init__(self, compiler, library, work):
        self.compiler, self.library, self.work = compiler, pathlib.Path(library).resolve(), work

    def compile(self, include, *options):
        return run(self.compiler, "-std=c++20", "-O0", "-w", f"-I{include}", *options, cwd=self.work)

    def layouts(self, include):
        """The size, alignment and virtual functions of each public class, as the compiler gives them; None if it cannot tell."""
        folder = self.work / "layouts"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "all.cc").write_text("#include <tessera/tessera.h>\n")
        code, said = run(self.compiler, "-std=c++20", "-w", f"-I{include}", "-fsyntax-only", "-fdump-lang-class", "all.cc", cwd=folder)
        dumps = list(folder.glob("*.class"))
        if code or not dumps:
            print(f"sizes of classes are not compared, because {self.compiler} does not print them")
            return None
        found = {}
        for block in dumps[0].read_text().split("\n\n"):
            lines = block.splitlines()
            name = re.match(r"(?:Class|Vtable for) (tessera::v0::.*)", lines[0]) if lines else None
            # Classes in functions and lambdas have no names that programs know.
            if not name or re.search(r"::detail::|<lambda|\(|<|__", name[1]):
                continue
            if lines[0].startswith("Class"):
                found[name[1]] = " ".join(lines[1].split())
            else:
                entries = [re.sub(r"^\d+\s+", "", line) for line in lines[2:]]
                found[f"the virtual functions of {name[1]}"] = "; ".join(re.sub(r"0x[0-9a-f]+", "", e) for e in entries)
        return found

    def run_with(self, include):
        bad = []
        for source in sorted((here / "programs").glob("*.cc")):
            program = self.work / source.stem
            code, said = self.compile(include, source, "-o", program, self.library, f"-Wl,-rpath,{self.library.parent}")
            if code:
                bad.append(f"{source.name} does not compile or link with the old headers\n{said[:3000]}")
                continue
            code, said = run(program, timeout=300)
            wanted = source.with_suffix(".txt").read_text()
            if code or said != wanted:
                bad.append(f"{source.name}, compiled with the old headers, ended with {code} and printed\n{said}instead of\n{wanted}")
        return bad


def of_symbols(old, new):
    gone = set(old.splitlines()[1:]) - set(new.splitlines()[1:])
    return [f"the symbol {s} is gone" for s in sorted(gone)]


def of_layouts(old, new):
    bad = [f"{name} is gone" for name in sorted(set(old) - set(new))]
    return bad + [f"{name} is {new[name]}, and was {old[name]}" for name in sorted(set(old) & set(new)) if old[name] != new[name]]


def main():
    if sys.argv[1:] == ["--write"]:
        write()
        return 0
    compiler, library = sys.argv[1:3]
    work = pathlib.Path(sys.argv[3]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    old = previous()
    with tarfile.open(old / "headers.tar.xz") as tar:
        tar.extractall(work / "old")
    before = work / "old/include"
    programs = Programs(compiler, library, work)
    if "--plant" in sys.argv[4:]:
        changed = work / "changed"
        shutil.copytree(root / "include", changed)
        jit = changed / "tessera/jit.h"
        text = jit.read_text()
        jit.write_text(text.replace("struct JitOptions {", "struct JitOptions {\n  std::int64_t planted = 0;", 1))
        sizes = [programs.layouts(p) for p in (root / "include", changed)]
        found = of_layouts(*sizes) if None not in sizes else ["tessera::v0::JitOptions"]
        symbols = (root / SYMBOLS).read_text()
        gone = of_symbols(symbols + "tessera::v0::planted()\n", symbols)
        wrong = not any(f.startswith("tessera::v0::JitOptions ") or f == "tessera::v0::JitOptions" for f in found) or len(gone) != 1
        wrong = wrong or (sizes[0] is not None and len(sizes[0]) < 200)
        print(f"planted differences gave {found} and {gone}" if wrong else "planted differences are found")
        return int(wrong)
    bad = []
    same = old.name == version()
    if same:
        bad += programs.run_with(before)
        bad += of_symbols((work / "old" / SYMBOLS).read_text(), (root / SYMBOLS).read_text())
        sizes = [programs.layouts(p) for p in (before, root / "include")]
        if None not in sizes:
            bad += of_layouts(*sizes)
    for source in sorted((here / "programs").glob("*.cc")):
        code, said = programs.compile(root / "include", "-fsyntax-only", source)
        if code:
            bad.append(f"{source.name} does not compile with the current headers\n{said[:3000]}")
    for line in bad:
        print(line)
    if bad:
        print("docs/stability.md says what may change in which version, and tests/stability/README.md what to do if the change is meant")
    else:
        print(f"programs of {old.name} work" + (f", and {len(sizes[0] or {})} classes have the same layout" if same else ""))
    return bool(bad)


sys.exit(main())
