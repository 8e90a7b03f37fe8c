"""Checks the finished site: check.py ROOT SITE [--pictures FOLDER].

* Each link and anchor inside the site resolves, and nothing is loaded from elsewhere.
* In Chromium, from a folder: a page's console is empty, it fits windows of 390 and of 1440 pixels, and with everything that it
  loads before a search it weighs less than 500 kB.
* Headings, names and contrasts are those that accessible.py asks for.
* The search finds the right page first for the terms of searches.tsv.

Without Chromium only the links are checked, which the last line then says."""
import html.parser
import pathlib
import shutil
import sys
import urllib.parse

root, site = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "html"
pictures = pathlib.Path(sys.argv[4]) if "--pictures" in sys.argv else None
sys.path.insert(0, str(root / "tests"))
import accessible
from browser import Browser

HEAVIEST, WIDTHS = 500_000, (390, 1440)
LARGEST_INDEX = 1_500_000  # it is loaded when a search begins
LEAST_PAGES, LEAST_LINKS, LEAST_TERMS = 250, 20_000, 30


class Page(html.parser.HTMLParser):
    """The ids of a page and the addresses that it has."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif attrs.get("src") or (tag == "link" and attrs.get("href")):
            self.loaded.append(attrs.get("src") or attrs["href"])


def broken_links():
    pages = {p: Page(p) for p in sorted(site.rglob("*.html"))}
    bad, count = [], 0
    for path, page in pages.items():
        shown = path.relative_to(site)
        for address in page.links + page.loaded:
            url = urllib.parse.urlsplit(address)
            if url.scheme in ("mailto", "data", "javascript"):
                continue
            if url.scheme or url.netloc:
                if address in page.loaded:
                    bad.append(f"{shown} loads {address}")
                continue
            count += 1
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                bad.append(f"{shown}: {address} is a folder, which a browser would list")
            elif not target.exists():
                if path.name != "404.html":
                    bad.append(f"{shown}: {address} does not exist")
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].ids and not url.fragment.startswith("__"):
                bad.append(f"{shown}: {address} has no such anchor")
    if len(pages) < LEAST_PAGES or count < LEAST_LINKS:
        bad.append(f"only {len(pages)} pages with {count} links were found")
    print(f"{len(pages)} pages, {count} links")
    return bad, pages


def weight(browser, path):
    loaded = browser.js("return performance.getEntriesByType('resource').map(e => e.name)")
    files = {pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(n).path)) for n in loaded if n.startswith("file:")} | {path}
    outside = [n for n in loaded if not n.startswith(("file:", "data:"))]
    return sum(f.stat().st_size for f in files if f.exists()), outside


WIDE = """
const wide = document.documentElement.clientWidth;
const beyond = [...document.querySelectorAll('.md-content *')].filter(e => e.getBoundingClientRect().right > wide + 1 &&
  !e.closest('pre, .md-typeset__table, .md-typeset__scrollwrap, svg, .highlight, code')).slice(0, 3).map(e => e.tagName + ' ' + e.textContent.slice(0, 40));
return [document.documentElement.scrollWidth > wide, beyond];"""


def check_page(browser, path):
    shown, bad = path.relative_to(site), []
    browser.go(path)
    for width in WIDTHS:
        browser.view(width, 1000)
        # A drawer may still be sliding out of a window that has just become wider.
        for _ in range(20):
            wide, beyond = browser.js(WIDE)
            if not wide and not beyond:
                break
        if wide or beyond:
            bad.append(f"{shown} is wider than {width} pixels: {beyond}")
    heavy, outside = weight(browser, path)
    bad += [f"{shown} weighs {heavy} bytes"] if heavy >= HEAVIEST else []
    bad += [f"{shown} loads {n}" for n in outside]
    bad += [f"{shown} {what}" for what in accessible.problems(browser)]
    bad += [f"{shown}: console: {m}" for m in browser.console()]
    return bad, heavy


SEARCH = """
const [term, done] = arguments;
const box = document.getElementById('__search'), input = document.querySelector('.md-search__input');
if (!box.checked) box.click();
const items = () => [...document.querySelectorAll('.md-search-result__item')];
const type = text => {
  input.focus();
  input.value = text;
  for (const kind of ['input', 'keyup']) input.dispatchEvent(new Event(kind, {bubbles: true}));
};
const when = (ready, then, begin = Date.now()) => ready() ? then() : Date.now() - begin > 25000 ? done(null) : setTimeout(when, 20, ready, then, begin);
type('');
when(() => !items().length, () => {
  type(term);
  when(() => items().length || /^No matching/.test(document.querySelector('.md-search-result__meta').textContent), () => done(
    items().slice(0, 3).map(i => [...i.querySelectorAll('a')].slice(0, 2).map(a => a.href.replace(/[?&]h=[^#]*/, '')))));
});"""


def check_search(browser):
    """The right page is that of the first result; where an anchor is given, too, it is that of one of
    the sections which the first result shows."""
    rows = [line.split("\t") for line in (root / "docs/site/searches.tsv").read_text().splitlines() if line and not line.startswith("#")]
    bad = [f"searches.tsv has {len(rows)} terms only"] if len(rows) < LEAST_TERMS else []
    browser.view(1440, 1000)
    browser.go(site / "index.html")
    for term, wanted in rows:
        found = browser.ask("POST", browser.session + "/execute/async", {"script": SEARCH, "args": [term]})
        first = [urllib.parse.urlsplit(a) for a in (found or [[]])[0]]
        page, _, anchor = wanted.partition("#")
        good = first and first[0].path.endswith("/html/" + page) and (not anchor or anchor in [f.fragment for f in first])
        if not good:
            bad.append(f"a search for {term} should find {wanted} first and finds {[[a.partition('/html/')[2] for a in x] for x in found or []]}")
    bad += [f"search: console: {m}" for m in browser.console()]
    print(f"{len(rows)} searches")
    return bad


bad, pages = broken_links()
chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
if chromium and driver:
    browser = Browser(chromium, driver)
    try:
        # The page of a server for addresses that do not exist is written for the root of a host.
        looked = [p for p in pages if "source" not in p.relative_to(site).parts and p.name != "404.html"] + [site / "source/include/tessera/array.h.html"]
        weights = []
        for path in looked:
            found, heavy = check_page(browser, path)
            bad += found
            weights.append((heavy, path.relative_to(site).as_posix()))
        print(f"{len(looked)} pages opened; the heaviest is {max(weights)[1]} with {max(weights)[0] / 1000:.0f} kB")
        bad += check_search(browser)
        index = (site / "search" / "search_index.js").stat().st_size
        bad += [f"the search index has {index} bytes"] if index > LARGEST_INDEX else []
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            for name in ("index", "lessons/index", "lessons/01_arrays", "lessons/09_plans", "gallery", "how_it_works", "speed", "coming_from/pytorch", "tasks", "first_steps", "spmd", "glossary", "performance", "rooms/spmd", "reference/topics", "reference/all_names",
                         "reference/collectives", "reference/array", "reference/elementwise", "reference/jit", "source/include/tessera/mesh.h"):
                for width in WIDTHS:
                    browser.view(width, 1400)
                    browser.go(site / f"{name}.html")
                    for scheme in accessible.SCHEMES:
                        browser.js(accessible.THEME, scheme)
                        browser.picture(pictures / f"{name.replace('/', '_')}_{width}_{scheme}.png")
    finally:
        browser.end()
print("\n".join(bad))
what = "" if chromium and driver else "; no browser, Debian's packages chromium and chromium-driver, opened its pages"
print(f"{len(bad)} mistakes" if bad else f"the site is in order{what}")
sys.exit(bool(bad))
