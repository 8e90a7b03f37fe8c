"""Compares tables and lists in the documents with the code: check_docs.py SOURCE_DIR [--plant].

With --plant, a line is added to or removed from a document or a source for each check, which must find it."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])

# The packages that CMake looks for, with README's names for them.
dependencies = {"TBB": "oneTBB", "DNNL": "oneDNN", "LLVM": "LLVM", "fmt": "fmt", "nlohmann_json": "nlohmann-json", "XXHASH": "xxHash",
                "LIBZIP": "libzip", "DLPACK": "DLPack", "SLEEF": "SLEEF", "OPENBLAS": "OpenBLAS", "ZLIB": "zlib"}
part_of = {"CBLAS": "OPENBLAS", "ZSTD": "LLVM"}
of_the_system = {"PkgConfig", "Threads"}


def texts():
    names = ["src/base/settings.cc", "docs/debugging.md", "CONTRIBUTING.md", "README.md", "cmake/TesseraDependencies.cmake"]
    folders = sorted(p.name for p in (root / "tests").iterdir() if p.is_dir() and not p.name.startswith(("_", ".")))
    return {n: (root / n).read_text() for n in names}, folders


def section(text, heading):
    start = text.index(f"\n## {heading}\n")
    end = text.find("\n## ", start + 4)
    return text[start:end if end >= 0 else len(text)]


def first_cells(text):
    return [c for row in re.findall(r"^\|([^|]*)\|", text, re.M) for c in re.findall(r"`([^`]+)`", row)]


def differences(what, found, where, wanted, there):
    bad = [f"{where} does not have {what} {x}, which {there} has" for x in wanted if x not in found]
    bad += [f"{where} has {what} {x}, which {there} does not have" for x in found if x not in wanted]
    return bad + [f"{where} has {what} {x} twice" for x in sorted(set(found)) if found.count(x) > 1]


def problems(text, folders):
    bad = []
    settings = re.findall(r'^\s*\{"(TESSERA_[A-Z_]+)",', text["src/base/settings.cc"], re.M)
    asked_for = {name for path in (root / "src").rglob("*.cc") for name in re.findall(r'settings::\w+\("(TESSERA_[A-Z_]+)"', path.read_text())}
    bad += [f"src/base/settings.cc does not have {name}, which the sources ask for" for name in sorted(asked_for - set(settings))]
    if len(asked_for) < 10:
        bad.append(f"the sources ask for {len(asked_for)} settings only")
    listed = [x for x in first_cells(section(text["docs/debugging.md"], "All variables")) if x.startswith("TESSERA_")]
    bad += differences("the variable", listed, "docs/debugging.md", settings, "src/base/settings.cc")
    bad += differences("the folder", first_cells(section(text["CONTRIBUTING.md"], "Tests")), "CONTRIBUTING.md", folders, "tests/")
    cmake = re.sub(r"#.*", "", text["cmake/TesseraDependencies.cmake"])
    asked = re.findall(r"(?:find_package|pkg_check_modules)\((\w+)", cmake) + re.findall(r"find_(?:path|library)\(TESSERA_([A-Z]+?)(?:_\w+)? ", cmake)
    asked = {part_of.get(a, a) for a in asked} - of_the_system
    for unknown in sorted(asked - set(dependencies)):
        bad.append(f"tests/check_docs.py does not know how README.md calls the dependency {unknown}")
    built = re.search(r"Tessera is built with [^.]*(?:\.\d[^.]*)*\.", text["README.md"]).group()
    for name, shown in dependencies.items():
        if (name in asked) != bool(re.search(rf"\b{re.escape(shown)}\b", built)):
            bad.append(f"README.md {'lacks' if name in asked else 'has'} the dependency {shown}, for which "
                       f"cmake/TesseraDependencies.cmake {'asks' if name in asked else 'does not ask'}")
    return bad


text, folders = texts()
if "--plant" in sys.argv[2:]:
    plants = [("docs/debugging.md", r"\n\| `TESSERA_SYNC`[^\n]*", ""), ("docs/debugging.md", r"(\n\| `TESSERA_)SYNC(` )", r"\1SINK\2"),
              ("src/base/settings.cc", r"(\n\s*\{)(\"TESSERA_SYNC\")", r'\1"TESSERA_NEW", Kind::flag, 0, 0, {}, "1"},\1\2'),
              ("CONTRIBUTING.md", r"`golden`, ", ""), ("CONTRIBUTING.md", r"`golden`", "`golden`, `silver`"),
              ("README.md", r"libzip, ", ""), ("cmake/TesseraDependencies.cmake", r"\nfind_package\(ZLIB[^\n]*", "\nfind_package(BLAKE REQUIRED)")]
    missed = []
    for name, pattern, planted in plants:
        changed, count = re.subn(pattern, planted, text[name], count=1)
        if count != 1 or not problems({**text, name: changed}, folders):
            missed.append(f"a planted mistake in {name} is not found: {pattern}")
    if not problems(text, folders + ["unknown"]):
        missed.append("a folder of tests that CONTRIBUTING.md lacks is not found")
    print("\n".join(missed) or "every planted mistake is found")
    sys.exit(bool(missed))
bad = problems(text, folders)
print("\n".join(bad) or "the documents have what the code has")
sys.exit(bool(bad))
