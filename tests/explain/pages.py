"""Opens the pages of plans in a browser, or only reads them.

pages.py structure|browser PLAN_PAGES FOLDER [--keep-pictures]

PLAN_PAGES writes pages and their JSON into FOLDER. `structure` checks what does not need a browser. `browser` opens each page in Debian's
Chromium through its driver, and checks that the console is empty, that figures and rows are those of the JSON, sorting, search, the link from
a collective to its equation, zoom, folding, a narrow window, and the light and dark themes. Without a browser it ends with exit code 77,
which ctest shows as skipped."""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import Browser

mode, program, folder = sys.argv[1:4]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
names = ["mlp", "one", "transformer", "scan"]


def expect(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, expected {want!r}")


class Page(html.parser.HTMLParser):
    """Reads the references of a page, its ids, and the text of its plan."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.outside, self.plan, self.title = [], [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for key in ("src", "href"):
            if attrs.get(key) and not attrs[key].startswith(("#", "data:")):
                self.outside.append(attrs[key])
        self.open.append((tag, attrs.get("id")))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == ("script", "plan"):
            self.plan += data
        if self.open and self.open[-1][0] == "title":
            self.title += data


def check_structure(name):
    text = (folder / f"{name}.html").read_text()
    plan = json.loads((folder / f"{name}.json").read_text())
    page = Page(text)
    expect(page.outside, [], f"{name}: what it refers to")
    expect(sorted(page.ids), sorted(set(page.ids)), f"{name}: ids")
    expect(json.loads(page.plan), plan, f"{name}: the plan in the page")
    expect(page.title, plan["name"] + " · plan", f"{name}: title")
    expect(re.findall(r"https?://", re.sub(r'<script id="plan".*?</script>', "", text, flags=re.S)), [], f"{name}: addresses")
    expect(sum(c["total_bytes"] for c in plan["collectives"]), plan["moved_bytes"], f"{name}: bytes of the collectives together")
    expect(sum(e["bytes"] for e in plan["arguments"]), plan["argument_bytes"], f"{name}: bytes of the arguments together")
    expect(plan["peak_bytes"], plan["argument_bytes"] + plan["result_bytes"] - plan["donated_bytes"] + plan["temporary_bytes"], f"{name}: bytes at most")
    for number, equation in enumerate(plan["equations"]):
        for k in equation["collectives"]:
            expect(number in [v["equation"] for v in plan["collectives"][k]["values"]], True, f"{name}: equation {number} of collective {k}")
    for collective in plan["collectives"]:
        expect(sum(v["bytes"] for v in collective["values"]), collective["bytes"], f"{name}: bytes of a collective's values together")
    most = max((step["live"] for step in plan["steps"]), default=0)
    expect(sum(live["bytes"] for live in plan["peak"]), most, f"{name}: what is alive where most is")
    expect([live["bytes"] for live in plan["peak"][:64]], sorted((live["bytes"] for live in plan["peak"][:64]), reverse=True), f"{name}: the largest first")
    events = json.loads((folder / f"{name}.trace.json").read_text())["traceEvents"]
    spans = [s for devices in plan["timeline"] for s in devices["spans"]]
    expect([(e["name"], e["ts"], e["dur"], e["args"]["line"]) for e in events if e["ph"] == "X"],
           [(s["name"], s["start"] * 1e6, s["seconds"] * 1e6, s["line"]) for s in spans], f"{name}: the trace")
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    expect([rows[e["pid"], e["tid"]] for e in events if e["ph"] == "X"],
           ["work" if s["lane"] == "compute" else "over " + s["lane"] for s in spans], f"{name}: the rows of the trace")
    for word in ("rung", "ladder", "atom"):
        expect(word in json.dumps([plan["arguments"], plan["results"], plan["wholes"], plan["headline"], plan["advice"]]), False, f"{name}: '{word}'")
    for devices in plan["timeline"]:
        end = 0
        for span in devices["spans"]:
            if abs(span["start"] - end) > 1e-9 * plan["seconds"]:
                sys.exit(f"{name}: a span starts at {span['start']}, the one before ends at {end}")
            end = span["start"] + span["seconds"]
        if abs(end - plan["seconds"]) > 1e-9 * plan["seconds"]:
            sys.exit(f"{name}: the timeline ends at {end}, not at {plan['seconds']}")
    return plan


def grouped(plan):
    """The rows by cost, the costliest first, with equal ones grouped together."""
    groups = {}
    for c in plan["collectives"]:
        key = json.dumps([c[k] for k in ("kind", "axes", "op", "line", "type", "from", "to", "bytes", "in_while", "in_branch")] + [[v["type"], v["line"]] for v in c["values"]])
        groups.setdefault(key, []).append(c)
    return sorted(groups.values(), key=lambda g: -sum(c["total_seconds"] for c in g))


SEARCH = """
const box = document.getElementById("search");
box.value = %s;
box.dispatchEvent(new Event("input"));
setTimeout(() => done(["collectives", "ends", "program"].map(id => document.getElementById(id + "-count").textContent)), 300);
"""
CELLS = "return [...document.querySelectorAll('#collectives-table tbody tr')].map(r => r.cells[%d].textContent)"


def check_in_browser(browser, name, plan):
    browser.go(folder / f"{name}.html")
    browser.js("document.documentElement.style.scrollBehavior = 'auto'")
    for key in ("seconds", "moved_bytes", "peak_bytes", "flops"):
        got = browser.js("return document.querySelector(`[data-figure=${arguments[0]}]`).dataset.value", key)
        expect(float(got), float(plan[key]), f"{name}: figure {key}")
    expect(browser.js("return document.getElementById('title').textContent"), plan["name"], f"{name}: heading")
    expect(browser.js("return document.querySelectorAll('#legend .axis').length"), len(plan["axes"]), f"{name}: axes")
    expect(browser.js("return document.querySelectorAll('#timeline-chart .span').length > 0"), True, f"{name}: timeline")
    expect(browser.js("return document.querySelectorAll('#memory-chart path').length"), 1, f"{name}: memory")
    expect(browser.js("return document.documentElement.scrollWidth <= innerWidth"), True, f"{name}: it fits the window")
    expect(browser.js("return document.getElementById('headline').textContent"), "Where the time goes" + re.sub(r"'([^']*)'", r"\1", plan["headline"]), f"{name}: the headline")
    shown = 1
    for axis in plan["axes"][-3:]:
        shown *= axis["size"] if axis["size"] <= 8 else 4
    expect(browser.js("return document.querySelectorAll('#mesh rect.device').length"), shown if plan["axes"] else 0, f"{name}: the drawing of the mesh")
    alive = [e["bytes"] for e in plan["arguments"] + plan["results"] + plan["peak"] if e["bytes"] > 0]
    expect(browser.js("return document.querySelectorAll('#peak tbody tr').length"), min(12, len(alive)), f"{name}: what is in memory")
    # Zoom to half of the time and back. Bars that are wide enough show their names.
    labels = "return [...document.querySelectorAll('#timeline-chart text[text-anchor]')].map(t => t.textContent)"
    everything = browser.js(labels)
    browser.js("document.getElementById('closer').click(); document.getElementById('closer').click()")
    expect(browser.js(labels) != everything, True, f"{name}: zoomed in")
    browser.js("document.getElementById('entire').click()")
    expect(browser.js(labels), everything, f"{name}: zoomed out")
    fits = """return [...document.querySelectorAll('#timeline-chart text.name')].every(t => {
                  const bar = t.previousElementSibling;
                  return t.getBoundingClientRect().right <= bar.getBoundingClientRect().right + 8; })"""
    expect(browser.js(fits), True, f"{name}: names on bars")
    groups = grouped(plan)
    if groups:
        # Rows are sorted by cost at first, then by the column that is clicked, in either direction.
        kinds = browser.js(CELLS % 4)
        expect(kinds[0], groups[0][0]["kind"], f"{name}: the costliest collective")
        expect(len(kinds), len(groups), f"{name}: rows of collectives")
        times = [sum(c["times"] for c in g) for g in groups]
        click = "document.querySelector('#collectives-table th[data-key=times]').click();"
        expect([int(re.match(r"[\d,]+", t)[0].replace(",", "")) for t in browser.js(click + CELLS % 2)], sorted(times, reverse=True), f"{name}: sorted down")
        expect([int(re.match(r"[\d,]+", t)[0].replace(",", "")) for t in browser.js(click + CELLS % 2)], sorted(times), f"{name}: sorted up")
        expect(browser.js("return document.querySelector('#collectives-table th[aria-sort]').getAttribute('aria-sort')"), "ascending", f"{name}: the sort's mark")
        # The parts are unfolded one by one.
        rows = browser.js("document.getElementById('group').click(); return document.querySelectorAll('#collectives-table tbody tr').length")
        expect(rows, min(200, len(plan["collectives"])), f"{name}: collectives one by one")
        browser.js("document.getElementById('group').click()")
        # A click on a collective leads to its equation.
        equations = {c["equation"] for c in plan["collectives"] if c["equation"] is not None}
        if equations:
            lit = browser.js("""[...document.querySelectorAll('#collectives-table tbody tr.go')].pop().click();
                                return document.querySelector('tr.lit').dataset.equation""")
            expect(int(lit) in equations, True, f"{name}: the equation of a collective")
            kinds = browser.js("return document.querySelectorAll('tr.lit .tag').length")
            expect(kinds, len(plan["equations"][int(lit)]["collectives"]), f"{name}: its marks")
    # Search.
    def count(found, everything):
        return f"{everything:,}" if found == everything else f"{found:,} of {everything:,}"
    ends = plan["arguments"] + plan["results"]
    equations = [e for e in plan["equations"] if e["collectives"] or not all(re.search(r"\[\]\*?$", r["type"]) for r in e["results"])]
    counts = browser.later(SEARCH % json.dumps("RESULT["))
    expect(counts[1], count(sum(e["name"].startswith("result[") for e in ends), len(ends)), f"{name}: ends found")
    counts = browser.later(SEARCH % json.dumps("no such thing anywhere"))
    expect(counts, [count(0, len(groups)), count(0, len(ends)), count(0, len(equations))], f"{name}: nothing found")
    counts = browser.later(SEARCH % '""')
    expect(counts[2], count(len(equations), len(equations)), f"{name}: everything again")
    rows = browser.js("document.getElementById('scalars').click(); return document.getElementById('program-count').textContent")
    expect(rows, f"{len(plan['equations']):,}", f"{name}: with scalars")
    browser.js("document.getElementById('scalars').click()")
    # When unfolded, each equation appears once.
    browser.js("document.getElementById('unfold').click()")
    for _ in range(20):
        if not browser.js("const more = document.querySelector('#program-table .more button'); if (more) more.click(); return !!more"):
            break
    numbers = browser.js("return [...document.querySelectorAll('tr[data-equation]')].map(r => +r.dataset.equation)")
    expect(numbers, [i for i, e in enumerate(plan["equations"]) if e in equations], f"{name}: unfolded")
    # The light and the dark theme.
    looks = set()
    for _ in range(2):
        looks.add(browser.js("document.getElementById('theme').click(); return getComputedStyle(document.body).backgroundColor"))
    expect(len(looks), 2, f"{name}: light and dark")
    browser.size(420, 900)
    browser.go(folder / f"{name}.html")
    expect(browser.js("return document.documentElement.scrollWidth <= innerWidth"), True, f"{name}: it fits a narrow window")
    browser.picture(folder / f"{name}_narrow.png")
    browser.size(1440, 1000)
    browser.go(folder / f"{name}.html")
    browser.js("document.documentElement.style.scrollBehavior = 'auto'")
    expect(browser.console(), [], f"{name}: console")
    for look in ("light", "dark"):
        browser.js("document.documentElement.dataset.theme = arguments[0]; scrollTo(0, 0)", look)
        for part in ([None] if "--keep-pictures" not in sys.argv else [None, "memory", "collectives", "ends", "program"]):
            browser.js("if (arguments[0]) document.getElementById(arguments[0]).scrollIntoView()", part)
            browser.picture(folder / f"{name}_{look}{'_' + part if part else ''}.png")


subprocess.run([program, str(folder)], check=True)
plans = {name: check_structure(name) for name in names}
if mode == "browser":
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        print("SKIPPED: no browser; Debian's packages chromium and chromium-driver are one")
        sys.exit(77)
    browser = Browser(chromium, driver)
    try:
        # Of six unrolled layers, one is shown, and the five like it are one row.
        browser.go(folder / "transformer.html")
        folds = browser.js("return [...document.querySelectorAll('tr.group')].map(r => r.textContent)")
        expect(any(re.match(r"▸[345] more like layer_\d", f) for f in folds), True, f"alike layers in {folds}")
        for name in names:
            check_in_browser(browser, name, plans[name])
    finally:
        browser.end()
print("pages are in order")
