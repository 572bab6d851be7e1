// Draws the charts of a search from the data in its page, and sorts and filters the table of trials.
"use strict";

const explore = (() => {
  const COLOURS = ["compute", "input", "exchange", "callbacks", "call"].map((each) => `var(--c-${each})`);
  const PHASES = { start: "call", tracing: "input", "warm-up": "sharing", measuring: "compute", ending: "exchange" };
  const ROW = 52; // px of an axis among parallel ones
  let wanted = "";
  let sorted = null;

  const text = ({ number, name, stage, outcome }) => `${number} ${name} ${stage} ${outcome}`;
  const fits = (found) => wanted.toLowerCase().split(/\s+/).every((word) => found.toLowerCase().includes(word));
  const figure = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const told = (each) => `Trial ${text(each)}${each.value ? `\n${figure(each.value)}` : ""}`;
  const drawn = (value) => ({ value, scale: null });
  const seconds = { label: "Seconds since the first trial began", labelOffset: 38, nice: true, grid: true };
  const below = { marginBottom: 44 };
  const halo = { stroke: "var(--paper)", fill: "var(--text)", strokeWidth: 7 };

  function best(searches) {
    const rows = searches.flatMap(({ label, trials }, i) =>
      trials.map((each) => ({ ...each, label, colour: COLOURS[i % COLOURS.length] })));
    rows.sort((a, b) => a.ended - b.ended);
    const shown = rows.filter((each) => each.value && fits(text(each)));
    return {
      ...below, height: 290, marginTop: 32, marginLeft: 60, x: seconds, y: { label: searches[0].title, grid: true, nice: true, tickFormat: "~s" },
      marks: [
        Plot.line(rows.filter((each) => each.best), {
          x: "ended", y: "best", z: "label", stroke: drawn("colour"), strokeWidth: 2, curve: "step-after",
        }),
        Plot.dot(shown, { x: "ended", y: "value", stroke: drawn("colour"), fill: drawn((each) => (each.distributed ? each.colour : "var(--paper)")), r: 3.5 }),
        Plot.tip(shown, Plot.pointer({ x: "ended", y: "value", title: told })),
      ],
    };
  }

  function timeline([{ trials }]) {
    const rows = trials.filter((each) => fits(text(each))).flatMap((each) =>
      each.phases.map(([phase, from, to]) => ({ ...each, phase, from, to })));
    const numbers = [...new Set(rows.map((each) => each.number))];
    const every = Math.ceil(numbers.length / 30);
    return {
      height: 60 + numbers.length * Math.max(7, Math.min(18, 480 / numbers.length)), ...below, marginTop: 8, marginLeft: 40, x: seconds,
      y: { label: null, ticks: numbers.filter((_, i) => i % every === 0), tickSize: 0, domain: numbers },
      marks: [
        Plot.barX(rows, { x1: "from", x2: "to", y: "number", fill: drawn((each) => `var(--c-${PHASES[each.phase]})`), insetTop: 1 }),
        Plot.tip(rows, Plot.pointerY({
          x: (each) => (each.from + each.to) / 2, y: "number",
          title: (each) => `${told(each)}\n${each.phase}: ${figure(each.to - each.from)} s`,
        })),
      ],
    };
  }

  // Each axis is a line of its own, so that its values can be read on a phone, too.
  function parallel([{ title, trials, chosen }]) {
    const shown = trials.filter((each) => each.value && fits(text(each)));
    const columns = new Map((shown[0]?.axes ?? []).map(([name], i) => [name, shown.map((each) => each.axes[i][1])]));
    const lines = [], labels = [], names = [];
    const add = (name, place, marked) => {
      names.push(name);
      shown.forEach((each, i) => lines.push({ ...each, axis: name, at: place(i) }));
      labels.push(...marked.map(([at, label]) => ({ axis: name, at, label })));
    };
    for (const [name, values] of columns) {
      const kinds = d3.sort(new Set(values), (a, b) => (typeof a === "number" ? a - b : d3.ascending(`${a}`, `${b}`)));
      const places = new Map(kinds.map((each, i) => [each, i / (kinds.length - 1)]));
      if (kinds.length > 1) add(name, (i) => places.get(values[i]), [...places].map(([each, at]) => [at, `${each}`]));
    }
    const [low, high] = d3.extent(shown, (each) => each.value);
    add(title, (i) => (high > low ? (shown[i].value - low) / (high - low) : 1), high > low ? [[0, figure(low)], [1, figure(high)]] : []);
    return {
      height: 50 + names.length * ROW, marginLeft: 4, marginRight: 4, marginTop: 36, marginBottom: 30,
      x: { axis: null, domain: [0, 1] }, y: { axis: null, type: "point", domain: names, padding: 0 },
      marks: [
        Plot.ruleY(names, { stroke: "var(--edge)" }),
        Plot.line(lines, { x: "at", y: "axis", z: "number", strokeOpacity: 0.5, stroke: drawn((each) => (each.distributed ? "var(--accent)" : "var(--quiet)")) }),
        Plot.line(lines.filter((each) => chosen.includes(each.number)), { x: "at", y: "axis", z: "number", stroke: "var(--c-input)", strokeWidth: 3 }),
        ...[["start", (at) => at === 0], ["middle", (at) => at > 0 && at < 1], ["end", (at) => at === 1]].map(([textAnchor, here]) =>
          Plot.text(labels.filter(({ at }) => here(at)), { x: "at", y: "axis", text: "label", dy: 12, textAnchor, ...halo })),
        Plot.text(names, { x: 0, y: (each) => each, text: (each) => each, dy: -10, textAnchor: "start", ...halo }),
        Plot.tip(lines, Plot.pointer({ x: "at", y: "axis", title: told })),
      ],
    };
  }

  const CHARTS = { best, timeline, parallel };

  function draw() {
    const data = document.querySelector("[data-history]"), section = document.getElementById("charts");
    if (!data || !section) return;
    const searches = JSON.parse(data.textContent);
    section.hidden = !searches.some(({ trials }) => trials.length);
    for (const place of document.querySelectorAll("[data-chart]")) {
      if (!place.clientWidth) continue;
      const ariaLabel = place.dataset.says;
      const chart = Plot.plot({ ...CHARTS[place.dataset.chart](searches), width: place.clientWidth, className: "chart", ariaLabel });
      chart.setAttribute("role", "img");
      for (const each of chart.querySelectorAll("style")) each.remove(); // Its rules are in style.css.
      for (const each of chart.querySelectorAll("[aria-label]")) each.removeAttribute("aria-label");
      place.replaceChildren(chart);
    }
  }

  const cellOf = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent;

  function order(table) {
    if (!sorted) return;
    const { column, falling } = sorted;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [one, other] = [a, b].map((each) => cellOf(each, column));
      return one.localeCompare(other, "en", { numeric: true }) * (falling ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((each, i) => {
      if (i === column) each.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else each.removeAttribute("aria-sort");
    });
  }

  function filter(root) {
    for (const row of root.querySelectorAll("table.runs tbody tr")) row.hidden = !fits(row.textContent);
  }

  function prepare(root) {
    for (const field of root.querySelectorAll(".filter")) {
      field.hidden = false;
      field.querySelector("input").value = wanted;
    }
    for (const table of root.querySelectorAll("table.runs")) {
      for (const head of table.tHead.rows[0].cells) {
        if (head.querySelector("button")) continue;
        const button = document.createElement("button");
        button.className = "sort";
        button.append(...head.childNodes);
        head.append(button);
      }
      order(table);
    }
    filter(root);
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.sort"), link = event.target.closest("a.printed");
    if (button) {
      const column = button.parentElement.cellIndex;
      sorted = { column, falling: sorted?.column === column && !sorted.falling };
      order(button.closest("table"));
    } else if (link) {
      event.preventDefault();
      const place = document.getElementById("printed");
      const answer = await fetch(link.href);
      place.querySelector("h2").textContent = link.getAttribute("aria-label");
      place.querySelector("pre").textContent = answer.ok ? await answer.text() : "It is not there any more.";
      place.showModal();
    }
  });
  document.addEventListener("input", (event) => {
    if (!event.target.closest(".filter")) return;
    wanted = event.target.value;
    filter(document);
    draw();
  });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) draw();
    width = contentRect.width;
  }).observe(document.getElementById("main"));
  // What is folded has no width until it is opened.
  document.addEventListener("toggle", draw, true);
  return { draw, prepare };
})();
