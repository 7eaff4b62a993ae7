"use strict";
// The list of pairs. Every text from the data becomes a text node; no markup is ever parsed here.
(() => {
const SVG = "http://www.w3.org/2000/svg";
const BATCH = 50;
const CALLED = { a: "A", b: "B", tie: "a tie" };
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const state = { kind: null, category: null, order: "data", words: "" };
let rows = [];   // what the filters leave, in order
let drawn = 0;   // how many of them are in the document

// ---- building blocks

function el(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// What the page's maker wrote out, ⟨U+202E⟩ or [redacted], stands apart from what was there.
function text(string) {
  const parts = document.createDocumentFragment();
  for (const part of String(string).split(/(⟨U\+[0-9A-F]{4,6}⟩|\[redacted\])/)) {
    parts.append(/^(⟨U\+[0-9A-F]{4,6}⟩|\[redacted\])$/.test(part) ? el("span", "esc", part) : part);
  }
  return parts;
}

const isolated = (string) => el("bdi", "", text(string));
const badge = (letter) => el("span", `badge badge-${letter.toLowerCase()}`, letter);
const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const glyph = (kind) =>
  svg("svg", { class: "glyph", width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" },
    svg("use", { href: `#mark-${kind}` }));

// B on the left, A on the right, as in the drawings above.
const meter = (row) =>
  svg("svg", { class: "meter", height: 14, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: "100%", y1: 7, y2: 7, class: "track" }),
    svg("line", { x1: "50%", x2: "50%", y1: 2, y2: 12, class: "tick" }),
    svg("use", { href: `#mark-${row.kind}`, x: `${100 * row.score}%`, y: 7 }));

function quote(string, name) {
  const block = el("div", `quote ${name || ""}`, text(string));
  block.dir = "auto";
  if (string.length < 900 && string.split("\n").length < 14) return block;
  block.classList.add("clamped");
  const open = el("button", "open", "Show all");
  open.type = "button";
  open.addEventListener("click", () => {
    open.textContent = block.classList.toggle("clamped") ? "Show all" : "Show less";
  });
  return el("div", "", block, open);
}

// ---- a pair

function card(row) {
  const link = el("a", "", `${row.no}`);
  link.href = `#item-${row.no}`;
  link.title = "Link to this pair";
  const title = el("h3", "", link, isolated(row.id));
  title.id = `title-${row.no}`;
  const outcome = el("span", "outcome", glyph(row.kind), data.kinds[row.kind]);
  const head = el("header", "", title, outcome);
  if (row.score !== undefined) {
    head.append(el("span", "score", `score ${row.score.toFixed(2)}`, meter(row)));
  } else if (row.reason) {
    head.append(el("span", "", text(row.reason)));
  }
  if (row.category !== null) head.append(isolated(row.category));
  if (row.label) {
    head.append(el("span", "", row.label === "tie" ? "people saw no difference" : `people preferred ${CALLED[row.label]}`));
  }
  const moved = (row.votes || []).filter((vote) => !vote.consistent).length;
  if (moved && row.kind !== "inconsistent") {
    head.append(el("span", "", `${count(moved, "judge")} changed with the order`));
  }
  for (const flag of row.flags) head.append(el("span", "warn", "⚠ ", isolated(flag)));

  const made = el("article", "pair", head, quote(row.instruction, "instruction"));
  made.id = `item-${row.no}`;
  made.tabIndex = -1;
  made.setAttribute("aria-labelledby", title.id);
  if (row.reference !== null) {
    made.append(el("details", "reference", el("summary", "", "Reference answer, shown to the judge"), quote(row.reference)));
  }
  made.append(el("div", "sides", side(row, 0, "a"), side(row, 1, "b")));
  if (row.detail) made.append(el("div", "look", quote(row.detail)));
  for (const vote of row.votes || []) {
    if (row.votes.length > 1) made.append(el("p", "juror", isolated(vote.judge)));
    made.append(el("div", "sides", look(vote.looks[0], "A"), look(vote.looks[1], "B")));
  }
  if (row.said) made.append(el("ul", "said", ...row.said.map(opinion)));
  return made;
}

// What one judge said of a pair that people labelled, and what it wrote where that is carried.
function opinion(said) {
  const name = el("span", "who", isolated(said.name));
  if (said.reason) return el("li", "", name, el("span", "", text(said.reason)));
  const chose = el("span", said.right ? "agrees" : "parts",
    said.choice !== "tie" ? CALLED[said.choice] : said.consistent ? "tie" : "inconsistent",
    said.right ? "" : " ✗");
  if (!said.looks.length) return el("li", "", name, chose);
  const looks = said.looks.map(([one, other]) => el("div", "sides", look(one, "A"), look(other, "B")));
  return el("li", "", el("details", "", el("summary", "", name, chose), ...looks));
}

function side(row, which, letter) {
  const won = row.said ? row.label === letter : row.kind === (which ? "baseline" : "candidate");
  const system = (row.systems || data.systems)[which];
  const head = el("h4", "", el("span", "", badge(letter.toUpperCase()), " ", isolated(system)),
    el("span", "", count(row.lengths[which], "character")));
  return el("div", `side side-${letter}${won ? " preferred" : ""}`, head, quote(row.texts[which]));
}

function look(seen, first) {
  const head = el("h4", "", el("span", "", `${first} shown first`));
  const chose = el("b", "", seen.choice === "tie" ? "called a tie" : "chose ");
  if (seen.choice !== "tie") chose.append(badge(CALLED[seen.choice]));
  head.append(chose);
  if (seen.p_a !== null) head.append(el("span", "", `P(A) ${seen.p_a.toFixed(2)}`));
  if (seen.mass !== null) head.append(el("span", "", `label mass ${seen.mass.toFixed(2)}`));
  for (const flag of seen.flags) head.append(el("span", "", text(flag)));
  return el("div", "look", head, seen.reasoning ? quote(seen.reasoning) : null);
}

// ---- the list

const written = (row) => [...(row.votes || []).flatMap((vote) => vote.looks),
  ...(row.said || []).flatMap((said) => (said.looks || []).flat())].map((seen) => seen.reasoning);
const words = (row) => [row.id, row.category, row.instruction, row.reference, row.reason, row.detail,
  ...row.texts, ...row.flags, ...(row.said || []).map((said) => said.name), ...written(row)];

const margin = (row) => (row.score === undefined ? null : Math.abs(row.score - 0.5));
const ORDERS = {
  data: (one, other) => one.no - other.no,
  parted: (one, other) => other.parted - one.parted || one.no - other.no,
  certain: (one, other) => (margin(one) ?? 1) - (margin(other) ?? 1) || one.no - other.no,
  margin: (one, other) => (margin(other) ?? -1) - (margin(one) ?? -1) || one.no - other.no,
};

function choose() {
  const wanted = state.words.toLowerCase();
  rows = data.rows.filter((row) =>
    (state.kind === null || row.kind === state.kind) &&
    (state.category === null || row.category === state.category) &&
    (wanted === "" || words(row).some((string) => string && string.toLowerCase().includes(wanted))));
  rows.sort(ORDERS[state.order]);
  drawn = 0;
  $("list").replaceChildren();
  $("found").textContent = `${rows.length.toLocaleString("en")} of ${count(data.rows.length, "pair")}`;
  if (!rows.length) $("list").append(el("p", "nothing", "No pair is like that. Esc clears the search."));
  draw(BATCH);
}

function draw(upTo) {
  const batch = document.createDocumentFragment();
  for (; drawn < Math.min(upTo, rows.length); drawn += 1) batch.append(card(rows[drawn]));
  $("list").append(batch);
}

function chips() {
  const entries = [[null, "All", data.rows.length],
    ...Object.entries(data.kinds).map(([kind, name]) => [kind, name, data.rows.filter((row) => row.kind === kind).length])];
  $("kinds").replaceChildren(...entries.filter(([kind, , n]) => kind === null || n).map(([kind, name, n]) => {
    const chip = el("button", "", kind && glyph(kind), name, el("b", "", n.toLocaleString("en")));
    chip.type = "button";
    chip.setAttribute("aria-pressed", String(state.kind === kind));
    chip.addEventListener("click", () => { state.kind = kind; chips(); choose(); });
    return chip;
  }));
}

function categories() {
  const names = [...new Set(data.rows.map((row) => row.category).filter((name) => name !== null))];
  $("category-label").hidden = names.length < 2;
  const choices = [[null, "All categories"], ...names.map((name) => [name, name])];
  $("category").replaceChildren(...choices.map(([, name], index) => {
    const choice = el("option", "", name);
    choice.value = String(index);
    return choice;
  }));
  $("category").addEventListener("change", (event) => {
    state.category = choices[Number(event.target.value)][0];
    choose();
  });
}

// ---- moving about

function go(index) {
  if (index < 0 || index >= rows.length) return;
  if (index >= drawn) draw(index + BATCH);
  const target = $("list").children[index];
  document.querySelectorAll(".here").forEach((other) => other.classList.remove("here"));
  target.classList.add("here");
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

const current = () => [...$("list").children].findIndex((child) => child.classList.contains("here"));

function follow() {
  const match = /^#item-(\d+)$/.exec(location.hash);
  if (!match) return;
  const number = Number(match[1]);
  const place = () => rows.findIndex((row) => row.no === number);
  if (place() < 0 && data.rows.some((row) => row.no === number)) {
    Object.assign(state, { kind: null, category: null, words: "" });
    $("search").value = "";
    $("category").value = "0";
    chips();
    choose();
  }
  go(place());
}

function clear() {
  $("search").value = state.words = "";
  choose();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const typing = event.target.matches("input[type=search], select");
  if (event.key === "Escape") {
    if (state.words || $("search").value) clear();
    event.target.blur();
  } else if (typing) {
    return;
  } else if (event.key === "j") {
    go(current() + 1);
  } else if (event.key === "k") {
    go(current() - 1);
  } else if (event.key === "/") {
    event.preventDefault();
    $("search").focus();
  } else if (event.key === "?") {
    $("help").showModal();
  }
});

let waiting;
$("search").addEventListener("input", (event) => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { state.words = event.target.value.trim(); choose(); }, 120);
});
$("order").addEventListener("change", (event) => { state.order = event.target.value; choose(); });
$("mono").addEventListener("change", (event) => document.body.classList.toggle("mono", event.target.checked));
$("help-open").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
new IntersectionObserver((seen) => {
  if (seen.some((entry) => entry.isIntersecting)) draw(drawn + BATCH);
}, { rootMargin: "1200px" }).observe($("more"));
addEventListener("beforeprint", () => draw(Math.max(drawn, 500)));
addEventListener("hashchange", follow);

$("tools").hidden = false;
chips();
categories();
choose();
follow();
})();
