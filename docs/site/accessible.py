"""A checker of what readers with weak eyes, or without a picture, need of a page: problems(BROWSER) of the page that is open.

* Headings begin with one of the first level and skip no level.
* Images have a text that replaces them, links and buttons have a name, ids are unique, and the language is named.
* Text has at least the contrast that WCAG 2.1 asks for at level AA, in both themes: 4.5 to 1, and 3 to 1 for large text."""

SCHEMES = ("default", "slate")

STRUCTURE = """
const bad = [];
const headings = [...document.querySelectorAll('.md-content h1, .md-content h2, .md-content h3, .md-content h4, .md-content h5, .md-content h6')];
const levels = headings.map(h => +h.tagName[1]);
if (levels.filter(l => l == 1).length != 1 || levels[0] != 1) bad.push(`has ${levels.filter(l => l == 1).length} headings of the first level`);
levels.forEach((l, k) => { if (k && l > levels[k - 1] + 1) bad.push(`skips a level before the heading "${headings[k].textContent}"`); });
for (const i of document.querySelectorAll('img')) if (!i.getAttribute('alt')) bad.push(`has no text for the image ${i.src}`);
for (const s of document.querySelectorAll('.md-content svg[role=img]')) if (!s.getAttribute('aria-label')) bad.push('has no text for a drawing');
const named = e => e.textContent.trim() || e.getAttribute('aria-label') || e.title || [...e.querySelectorAll('img')].some(i => i.alt);
for (const e of document.querySelectorAll('a[href], button')) if (!named(e)) bad.push(`has a ${e.tagName} without a name: ${e.outerHTML.slice(0, 80)}`);
for (const t of document.querySelectorAll('.md-content table')) if (!t.querySelector('th')) bad.push('has a table without a head');
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
const twice = ids.filter((x, k) => ids.indexOf(x) != k);
if (ids.length < 20000 && twice.length) bad.push(`has the id ${twice[0]} twice`);
if (!document.documentElement.lang) bad.push('names no language');
return bad;"""

# Shows a theme at once, without the transitions between colours.
THEME = """
document.body.setAttribute('data-md-color-scheme', arguments[0]);
if (!document.getElementById('__still')) {
  const still = document.createElement('style');
  still.id = '__still';
  still.textContent = '* { transition: none !important; }';
  document.head.append(still);
}"""

CONTRAST = THEME + """
const numbers = c => {
  const m = (c.match(/[\\d.]+(?:e-?\\d+)?/g) || []).map(Number);
  const rgb = c.startsWith('color(') ? m.slice(0, 3).map(x => 255 * x) : m.slice(0, 3);
  return [...rgb, m.length > 3 ? m[3] : 1];
};
const over = (f, b) => [0, 1, 2].map(i => f[i] * f[3] + b[i] * (1 - f[3]));
const light = c => {
  const [r, g, b] = c.map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const grounds = new Map();
const ground = e => {
  if (!e) return [255, 255, 255];
  if (!grounds.has(e)) {
    const c = numbers(getComputedStyle(e).backgroundColor);
    grounds.set(e, c[3] == 1 ? c.slice(0, 3) : over(c, ground(e.parentElement)));
  }
  return grounds.get(e);
};
const shown = new Map();
const opacity = e => {
  if (!e) return 1;
  if (!shown.has(e)) shown.set(e, +getComputedStyle(e).opacity * opacity(e.parentElement));
  return shown.get(e);
};
const found = new Map();
for (const e of document.querySelectorAll('.md-content *, .md-sidebar *, .md-header *, .md-tabs *, .md-footer *')) {
  if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  if (box.width < 2 || box.height < 2 || style.visibility == 'hidden' || opacity(e) < 0.1) continue;
  const behind = ground(e), colour = numbers(style.color);
  colour[3] *= opacity(e);
  const [a, b] = [light(over(colour, behind)), light(behind)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
  const least = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700) ? 3 : 4.5;
  if (ratio < least) {
    const what = `${e.tagName.toLowerCase()}.${e.className} (${e.parentElement.className.toString().split(' ')[0]})`;
    if (!found.has(what)) found.set(what, `has a contrast of ${ratio.toFixed(1)} in ${what}: "${e.textContent.trim().slice(0, 30)}"`);
  }
}
return [...found.values()].slice(0, 12);"""


def problems(browser):
    bad = list(browser.js(STRUCTURE))
    for scheme in SCHEMES:
        bad += [f"{what} (theme {scheme})" for what in browser.js(CONTRAST, scheme)]
    return bad
