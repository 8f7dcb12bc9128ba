// What a page does beyond showing text: figures (by Observable Plot), tables that sort and
// filter. A figure is described by grader/report/plots/figure.hpp; gnuplot draws the same one.
"use strict";

(function () {
  // 0, 1, … of series, which only differ from each other; -1 a library, -2 a bound, -3 ink.
  const colour = (i) => (i < 0 ? ["var(--library)", "var(--bound)", "var(--ink)"][-1 - i] : "var(--series-" + (i % 4) + ")");
  const shapes = ["circle", "square", "triangle", "triangle", "diamond2"];
  const signs = ["●", "■", "▲", "▼", "◆", "○", "□", "△", "▽", "◇"];
  const text = (value) => String(Number(value.toPrecision(3)));
  const wide = (names) => 7 * Math.max(0, ...names.map((name) => name.length));

  // What a mark says to the mouse and to the keyboard.
  function said(figure, series, mark) {
    const place = figure.rows.length ? figure.rows[mark.at] : text(mark.at);
    const spread = mark.low < mark.high ? " (" + text(mark.low) + " to " + text(mark.high) + ")" : "";
    return (mark.text || [series.label, place].filter(Boolean).join(", ")) + ": " + text(mark.value) + spread;
  }

  function dots(figure, series, x, y) {
    if (series.symbol < 0) return [];
    const filled = series.symbol % 10 < 5;
    return [
      Plot.dot(series.marks, {
        x, y, r: 3.5, symbol: shapes[series.symbol % 5], rotate: series.symbol % 5 === 3 ? 180 : 0,
        stroke: colour(series.colour), fill: filled ? colour(series.colour) : "var(--paper)",
        title: (mark) => said(figure, series, mark),
      }),
    ];
  }

  const rows = (figure, panel, width) => {
    const left = Math.min(wide(figure.rows) + 12, width * 0.55);
    const most = Math.floor((left - 12) / 7);
    const name = (i) => (figure.rows[i].length > most ? figure.rows[i].slice(0, most - 1) + "…" : figure.rows[i]);
    const right = Math.min(Math.max(64, wide(panel.bars.map((bar) => bar.text)) + 18), width * 0.25);
    const rules = [...panel.rules].sort((a, b) => a.value - b.value);
    const row = (mark) => mark.at;
    // Every label to the right of its line, so that none lies at the line of another, if there is room.
    const fits = (rule) => share(figure.x, rule.value) * (width - left - right) + wide([rule.label]) + 5 < width - left;
    return Plot.plot({
      width, height: 60 + 19 * figure.rows.length + 16 * rules.length,
      marginLeft: left, marginRight: right, marginTop: 12 + 16 * rules.length, marginBottom: 40,
      x: { type: "log", domain: [figure.x.low, figure.x.high], label: figure.x.title, labelAnchor: "center", labelArrow: "none", grid: true, ticks: Math.max(2, (width - left) / 90), tickFormat: text },
      y: { type: "point", domain: figure.rows.map((_, i) => i), label: null, tickSize: 0, tickFormat: name, grid: true },
      marks: [
        figure.origin ? Plot.ruleX([figure.origin], { stroke: "var(--quiet)" }) : null,
        Plot.ruleX(rules, { x: "value", stroke: (rule) => colour(rule.colour), strokeWidth: 1.5, strokeDasharray: "6 5" }),
        rules.map((rule, i) =>
          Plot.text([rule], { x: "value", text: "label", frameAnchor: "top", dx: 5, dy: -16 * (rules.length - i), textAnchor: fits(rule) ? "start" : "end", fill: colour(rule.colour), stroke: "var(--paper)", strokeWidth: 4 })),
        Plot.ruleY(panel.bars, { y: row, x1: "low", x2: "value", stroke: "var(--line)", strokeWidth: 2 }),
        panel.series.map((series) => [
          Plot.ruleY(series.marks, { y: row, x1: "low", x2: "high", stroke: colour(series.colour) }),
          dots(figure, series, "value", row),
        ]),
        Plot.text(panel.bars, { y: row, x: "high", text: "text", dx: 9, textAnchor: "start", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4 }),
      ],
    });
  };

  // Where a value lies on an axis: 0 at its beginning, 1 at its end.
  const share = ({ low, high }, value) => Math.log(value / low) / Math.log(high / low);

  // How far down each label moves, so that it covers none before it.
  function movesOf(figure, left, width, height) {
    const taken = [];
    return figure.labels.map((label) => {
      const words = wide([label.text]);
      const x = left + share(figure.x, label.column) * width + (label.to_the_left ? -6 - words : 6);
      const y = (1 - share(figure.y, label.text_y)) * height;
      const covers = (dy) => (dy && (y + dy < 0 || y + dy > height)) || taken.some((other) => x < other.x + other.words && other.x < x + words && Math.abs(y + dy - other.y) < 14);
      let dy = 0;
      for (let step = 1; covers(dy) && step < 20; ++step) dy = (step % 2 ? 7 : -7) * step;
      taken.push({ x, y: y + dy, words });
      return dy;
    });
  }

  const lines = (figure, panel, width) => {
    const left = 60;
    // Labels beyond the end begin at a share of the axis, and the margin holds them.
    const margins = figure.labels.map((label) => [share(figure.x, label.column) - 1, wide([label.text]) + 16]).filter(([beyond]) => beyond > 0);
    const right = Math.max(40, ...margins.map(([beyond, words]) => (beyond * (width - left) + words) / (1 + beyond)));
    const most = Math.max(0, ...figure.labels.map((label) => figure.labels.filter((other) => other.column === label.column).length));
    const height = Math.max(380, 100 + 15 * most);
    const moves = movesOf(figure, left, width - left - right, height - 75);
    const name = (label, i) => ({ x: "column", y: "text_y", text: "text", fill: colour(label.colour), dx: label.to_the_left ? -6 : 6, dy: moves[i], textAnchor: label.to_the_left ? "end" : "start", stroke: "var(--paper)", strokeWidth: 4 });
    return Plot.plot({
      width, height, marginLeft: left, marginRight: right, marginBottom: 45, marginTop: 30,
      x: { type: "log", domain: [figure.x.low, figure.x.high], label: figure.x.title, labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: text },
      y: { type: "log", domain: [figure.y.low, figure.y.high], label: figure.y.title, labelArrow: "none", grid: true, tickFormat: text },
      marks: [
        Plot.link(figure.labels.filter((label) => label.x !== label.column), { x1: "x", y1: "y", x2: "column", y2: "text_y", stroke: "var(--line)" }),
        panel.series.map((series) => [
          series.line === "none" ? null : Plot.line(series.marks, { x: "at", y: "value", stroke: colour(series.colour), strokeWidth: series.line === "thick" ? 2.5 : 1.5, strokeDasharray: series.line === "dotted" ? "2 4" : null }),
          series.symbol < 0 ? null : Plot.ruleX(series.marks, { x: "at", y1: "low", y2: "high", stroke: colour(series.colour) }),
          series.marks.length > 200 ? null : dots(figure, series, "at", "value"),
        ]),
        figure.labels.map((label, i) => Plot.text([label], name(label, i))),
      ],
    });
  };

  function keyOf(panels) {
    const key = document.createElement("p");
    key.className = "key";
    const known = new Map(panels.flatMap((panel) => panel.series).map((series) => [series.label, series]));
    for (const series of known.values()) {
      const entry = document.createElement("span");
      const sign = document.createElement("span");
      sign.textContent = signs[series.symbol % 10];
      sign.style.color = colour(series.colour);
      entry.append(sign, " " + series.label);
      key.append(entry);
    }
    return known.size > 1 ? [key] : [];
  }

  function drawChart(place, figure) {
    const total = place.clientWidth;
    const many = figure.panels.length > 1 && total > 1000;
    const width = many ? Math.floor(total / 2) - 10 : total;
    place.replaceChildren(...(figure.rows.length ? keyOf(figure.panels) : []));
    for (const panel of figure.panels) {
      const box = document.createElement("div");
      const title = document.createElement("strong");
      title.textContent = panel.title;
      const plot = (figure.rows.length ? rows : lines)(figure, panel, width);
      plot.setAttribute("aria-hidden", "true");
      box.append(...(panel.title ? [title] : []), plot);
      place.append(box);
    }
    letKeysReadMarks(place, figure.title);
  }

  // A figure is one stop of Tab. Arrows go from mark to mark and read each; Escape stops.
  function letKeysReadMarks(place, title) {
    const marks = [...place.querySelectorAll("svg title")].map((each) => each.parentElement);
    const line = document.createElement("output");
    let at = -1;
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", title + "; arrow keys read its marks; the numbers follow as a table");
    const choose = (next) => {
      if (at >= 0) marks[at].classList.remove("chosen");
      at = next;
      if (at >= 0) marks[at].classList.add("chosen");
      line.textContent = at >= 0 ? marks[at].querySelector("title").textContent : "";
    };
    place.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") choose(-1);
      else if (step && marks.length) choose((at < 0 ? (step > 0 ? 0 : -1) : at + step + marks.length) % marks.length);
      else return;
      event.preventDefault();
    };
    place.append(line);
  }

  function drawAllCharts() {
    for (const data of document.querySelectorAll("script.chart-data")) {
      drawChart(data.parentElement.querySelector(".chart"), JSON.parse(data.textContent));
    }
  }

  function makeLive(place) {
    const table = place.querySelector("table");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Filter: every word must occur";
    filter.setAttribute("aria-label", "Filter the table");
    const count = document.createElement("span");
    count.className = "count";
    count.setAttribute("aria-live", "polite");
    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = shown + " of " + rows.length;
    };
    filter.addEventListener("input", show);
    place.prepend(filter, count);
    filter.hidden = count.hidden = rows.length < 8;
    show();
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      cell.textContent = "";
      cell.append(button);
      button.addEventListener("click", () => {
        const ascending = cell.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const key = (row) => row.cells[column].textContent;
        rows.sort((a, b) => {
          const difference = parseFloat(key(a)) - parseFloat(key(b));
          const order = Number.isNaN(difference) ? key(a).localeCompare(key(b), undefined, { numeric: true }) : difference;
          return ascending ? order : -order;
        });
        body.append(...rows);
      });
    });
  }

  for (const table of document.querySelectorAll(".table")) table.tabIndex = 0; // scrolls by keyboard
  document.querySelectorAll(".live").forEach(makeLive);
  drawAllCharts();
  let waiting = 0;
  let drawn = document.body.clientWidth;
  const again = () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAllCharts, 150);
  };
  new ResizeObserver(() => {
    if (document.body.clientWidth !== drawn) again();
    drawn = document.body.clientWidth;
  }).observe(document.body);
  window.addEventListener("beforeprint", drawAllCharts);
})();
