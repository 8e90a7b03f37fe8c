"""Copies the documents of the tree to the pages of the site: write(ROOT, PAGES).

A page keeps its text. Its relative links, which are written for the tree, become links between pages; a link to a source file becomes one to
a page with that file's lines. The headers of include/ have such pages, too, since the reference links to their lines."""
import html
import pathlib
import posixpath
import re

import notebooks
import pygments
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# Words of the glossary that are also plain English, so that only some of their uses are terms.
ORDINARY = {"beside", "behind", "body", "ends", "row", "turn", "whole", "apart", "cut", "part", "piece", "move", "mark", "place", "open", "closed", "lie", "likely",
            "loud", "ways", "wished", "wanted", "given", "inside", "door", "block", "box", "contest", "divide", "unit", "route", "capture", "weak", "held", "holds",
            "step", "phase", "kept", "seat", "round", "settle", "flow", "origin", "factor", "called", "vary", "filling", "padding", "history", "barred"}


class Pages:
    def __init__(self, root, pages):
        self.root, self.pages = pathlib.Path(root), pathlib.Path(pages)
        self.sources, self.folders = set(), set()
        self.wrong = []
        self.documents = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
        self.documents |= {f"docs/{p.name}": "documents.md" if p.name == "README.md" else p.name for p in sorted((self.root / "docs").glob("*.md"))}
        self.rooms, self.examples, self.lessons, self.coming_from, self.notebooks = [], [], [], [], []
        for p in sorted((self.root / "examples/notebooks").glob("*.ipynb")):
            self.documents[f"examples/notebooks/{p.name}"] = f"notebooks/{p.stem}.md"
            self.notebooks.append(f"notebooks/{p.stem}.md")
        for folder, listed in (("lessons", self.lessons), ("coming_from", self.coming_from)):
            for p in sorted((self.root / "docs" / folder).glob("*.md")):
                page = f"{folder}/{'index' if p.stem == 'README' else p.stem}.md"
                self.documents[f"docs/{folder}/{p.name}"] = page
                listed.append(page)
        for p in sorted((self.root / "src").rglob("*.md")):
            inside = p.relative_to(self.root / "src").with_suffix("").as_posix()
            name = "index" if inside == "README" else inside.removesuffix("/README").replace("/", "_")
            self.documents[f"src/{inside}.md"] = f"rooms/{name}.md"
            self.rooms.append(f"rooms/{name}.md")
        for p in sorted((self.root / "examples").rglob("README.md")):
            inside = p.parent.relative_to(self.root / "examples").as_posix()
            self.documents[p.relative_to(self.root).as_posix()] = f"examples/{'index' if inside == '.' else inside}.md"
            self.examples.append(f"examples/{'index' if inside == '.' else inside}.md")
        self.documents |= {"docs/site/README.md": "site.md", "python/README.md": "python.md", "tests/jax/README.md": "jax_plugin_tests.md"}
        self.terms = self.glossary_terms()

    def glossary_terms(self):
        terms = {}
        for line in (self.root / "docs/glossary.md").read_text().splitlines():
            if m := re.match(r"\| ([a-z][a-z, -]*) \|", line):
                words = m[1].split(", ")
                if words != ["word"]:
                    terms |= {w: words[0] for w in words}
        return terms

    def target(self, path, anchor):
        """The page of a file or folder of the tree, relative to the site, or None."""
        file = self.root / path
        if file.is_dir():
            inside = posixpath.normpath(posixpath.join(path, "README.md"))
            if inside not in self.documents:
                self.folders.add(path)
                return f"source/{path}/files.md"
            path = inside
            file = self.root / path
        if path in self.documents:
            return self.documents[path] + anchor
        if not file.is_file():
            return None
        if file.suffix in (".svg", ".png"):
            return path.removeprefix("docs/")
        self.sources.add(path)
        return f"source/{path}.md" + re.sub(r"^#L(\d+)(-.*)?$", r"#L-\1", anchor)

    def rewritten(self, document, text):
        """The text with the links of a page."""
        page = self.documents[document]

        def replaced(m):
            to = m[2]
            if re.match(r"[a-z]+:|#", to):
                return m[0]
            if to.endswith("..."):  # the arguments of a call in the reference of ops, and no link
                return f"]\\({to}{m[3]}"
            path, hash_, anchor = to.partition("#")
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(document), path))
            found = self.target(inside, hash_ + anchor)
            if found is None:
                self.wrong.append(f"{document}: the link {to} leads nowhere")
                return m[0]
            return m[1] + posixpath.relpath(found.partition("#")[0], posixpath.dirname(page) or ".") + ("#" + found.partition("#")[2] if "#" in found else "") + m[3]
        # Code keeps its brackets.
        parts = re.split(r"(^```.*?^```|`[^`]+`)", text, flags=re.S | re.M)
        return "".join(p if k % 2 else LINK.sub(replaced, p) for k, p in enumerate(parts))

    def with_terms(self, page, text):
        """The first use of each term of the glossary becomes a link to it."""
        seen = set()
        words = sorted((w for w in self.terms if w not in ORDINARY), key=len, reverse=True)
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})(s)?\b")
        up = posixpath.relpath("glossary.md", posixpath.dirname(page) or ".")

        def replaced(m):
            if m[1] in seen:
                return m[0]
            seen.add(m[1])
            return f"[{m[0]}]({up}#{self.terms[m[1]].replace(' ', '-')}){{ .term }}"
        parts = re.split(r"(^```.*?^```|`[^`\n]+`|!?\[[^\]]*\]\([^)]*\)|^#.*?$|^ {4}.*?$|<[^>]*>)", text, flags=re.S | re.M)
        return "".join(p if k % 2 else pattern.sub(replaced, p) for k, p in enumerate(parts))

    @staticmethod
    def glossary(text):
        """Each row gets an anchor with its first word."""
        return re.sub(r"^\| ([a-z][a-z -]*)(, [a-z, -]*)? \|(?! meaning)", lambda m: f'| <span id="{m[1].replace(" ", "-")}"></span>{m[1]}{m[2] or ""} |', text, flags=re.M)

    def text(self, document):
        """The Markdown of a document. The pictures of a notebook become files beside its page."""
        text = (self.root / document).read_text()
        if not document.endswith(".ipynb"):
            return text
        text, pictures = notebooks.markdown(text)
        for k, (suffix, data) in enumerate(pictures):
            name = f"images/{pathlib.Path(document).stem}_{k}.{suffix}"
            target = self.pages / "notebooks" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            text = text.replace(f"@@picture {k}@@", f'<img src="{name}" alt="the picture that the cell shows">')
        return text

    def document(self, document):
        page = self.documents[document]
        text = self.text(document)
        if document == "docs/glossary.md":
            text = self.glossary(text)
        text = self.rewritten(document, text)
        # What a program prints, which a comment marks.
        text = re.sub(r"^<!-- output: [^\n]*\n(```text\n.*?^```)$", r'<div class="output" markdown="1">\n\n\1\n\n</div>', text, flags=re.S | re.M)
        # A list that follows a paragraph directly is one on the repository's host, and here behind an empty line.
        text = re.sub(r"(^(?![*|#>\- ]|\d+\. |```)[^\n]+\n)(?=(?:\* |- |1\. )\S)", r"\1\n", text, flags=re.M)
        if page.startswith("rooms/") or document in ("docs/architecture.md", "docs/spmd.md", "docs/plans.md", "docs/adding_an_op.md"):
            text = self.with_terms(page, text)
        if page in ("changelog.md", "performance_avx2.md"):  # the rows of the latter are those of performance.md
            text = f"---\nsearch:\n  exclude: true\n---\n\n{text}"
        elif page == "ops.md":
            text = f"---\nsearch:\n  boost: 0.5\n---\n\n{text}"
        elif not page.startswith(("examples", "lessons/", "notebooks/", "coming_from/", "rooms/", "performance", "conformance", "jax_", "names")):
            text = f"---\nsearch:\n  boost: 2\n---\n\n{text}"
        self.put(page, text)

    def put(self, page, text):
        target = self.pages / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)

    def source(self, path):
        """A page with the lines of a file, each with the anchor L-<number>."""
        text = (self.root / path).read_text()
        try:
            lexer = get_lexer_for_filename(path + ("" if not path.endswith(".h") else "pp"), stripnl=False)
            shown = pygments.highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors=None, linespans="L", wrapcode=True))
        except ClassNotFound:
            lines = "\n".join(f'<span id="L-{k}">{html.escape(x)}</span>' for k, x in enumerate(text.splitlines(), 1))
            shown = f'<div class="highlight"><pre><code>{lines}</code></pre></div>'
        shown = shown.replace("&#39;", "'").replace("&quot;", '"')
        name = path.removeprefix("include/")
        self.put(f"source/{path}.md", f'---\ntitle: {name}\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n\n# {name}\n\n<div class="source">\n{shown}</div>\n')

    def folder(self, path):
        """A page with the files of a folder."""
        files = [p.relative_to(self.root / path).as_posix() for p in sorted((self.root / path).rglob("*")) if p.is_file()]
        self.put(f"source/{path}/files.md", f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n" + "\n".join(f"* `{f}`" for f in files) + "\n")

    def write(self):
        for document in self.documents:
            self.document(document)
        for image in [*(self.root / "docs").glob("*.svg"), *(p for p in (self.root / "docs").glob("**/images/**/*") if p.is_file())]:
            target = self.pages / image.relative_to(self.root / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(image.read_bytes())
        for header in sorted((self.root / "include").rglob("*.h")):
            self.sources.add(header.relative_to(self.root).as_posix())
        for path in sorted(self.sources):
            self.source(path)
        for path in sorted(self.folders):
            self.folder(path)
        if self.wrong:
            raise SystemExit("\n".join(self.wrong))

    def titled(self, pages):
        """Navigation entries with the titles of the pages."""
        back = {page: document for document, page in self.documents.items()}
        entries = []
        for page in sorted(pages, key=lambda p: (not p.endswith("/index.md"), p)):
            title = re.search(r"^# (.*)$", self.text(back[page]), re.M)[1].replace("`", "")
            entries.append(page if page.endswith("/index.md") else {title: page})
        return entries
