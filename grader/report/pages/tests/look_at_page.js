// What grader/report/pages/tests/opened_page.hpp adds to a copy of a page: it looks at the page that
// the browser drew, and leaves what it found as JSON in <pre id="seen">.
"use strict";

addEventListener("load", () => {
  const wrong = window.wrongThings;
  const say = (what, where) => wrong.push(what + ": " + String(where).replace(/\s+/g, " ").trim().slice(0, 160));
  const wide = document.documentElement.clientWidth;

  // A line that is wider than the page must be in something that scrolls.
  if (document.documentElement.scrollWidth > wide) {
    for (const each of document.body.querySelectorAll("*")) {
      const inside = each.closest(".table, .chart, .live, pre, .skip");
      if (!inside && each.getBoundingClientRect().right > wide + 1) say("wider than the page", each.outerHTML);
    }
    say("the page scrolls sideways", document.documentElement.scrollWidth + " of " + wide + " pixels");
  }

  // Every mark of a figure's data is drawn, inside the figure.
  let marks = 0;
  for (const chart of document.querySelectorAll(".chart")) {
    const figure = JSON.parse(chart.parentElement.querySelector("script.chart-data").textContent);
    const shown = figure.panels.flatMap((panel) => panel.series)
      .filter((series) => series.symbol >= 0 && !(figure.form === "lines" && series.marks.length > 200))
      .reduce((sum, series) => sum + series.marks.length, 0);
    const drawn = [...chart.querySelectorAll("svg title")].map((each) => each.parentElement);
    marks += drawn.length;
    if (drawn.length !== shown) say(figure.title, drawn.length + " of " + shown + " marks are drawn");
    const box = chart.getBoundingClientRect();
    const right = box.left - chart.scrollLeft + chart.scrollWidth + 1;
    for (const mark of drawn) {
      const at = mark.getBoundingClientRect();
      if (!(at.width > 0 && at.height > 0)) say(figure.title + ", a mark that nobody sees", mark.textContent);
      if (at.left < box.left - 1 || at.right > right) say(figure.title + ", a mark outside", mark.textContent);
    }
    const texts = [...chart.querySelectorAll("svg text")].filter((each) => each.textContent.trim());
    const boxes = texts.map((each) => each.getBoundingClientRect());
    texts.forEach((text, i) => {
      const at = boxes[i];
      if (at.left < box.left - 1 || at.right > right || at.top < box.top - 1) say(figure.title + ", words cut off", text.textContent);
      for (let j = 0; j < i; ++j) {
        const other = boxes[j];
        const x = Math.min(at.right, other.right) - Math.max(at.left, other.left);
        const y = Math.min(at.bottom, other.bottom) - Math.max(at.top, other.top);
        // A line of text is about 14 pixels high.
        if (x > 4 && y > 6) say(figure.title + ", words over words", text.textContent + " / " + texts[j].textContent);
      }
    });
    // The keyboard reads every mark.
    const words = chart.querySelector("output");
    chart.focus();
    if (document.activeElement !== chart) say(figure.title, "Tab does not reach it");
    const read = new Set();
    for (const mark of drawn) {
      chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
      if (!words.textContent) say(figure.title, "an arrow key reads nothing");
      read.add(chart.querySelector(".chosen"));
    }
    if (read.size !== drawn.length) say(figure.title, "the keys read " + read.size + " of " + drawn.length + " marks");
  }

  // A filter leaves the rows with its word, and no others; a heading sorts.
  for (const live of document.querySelectorAll(".live")) {
    const rows = [...live.querySelectorAll("tbody tr")];
    const input = live.querySelector("input");
    const word = rows.length ? rows[rows.length - 1].cells[0].textContent : "";
    input.value = word;
    input.dispatchEvent(new Event("input"));
    const left = rows.filter((row) => !row.hidden);
    if (rows.length && !left.includes(rows[rows.length - 1])) say("the filter hides the row that it names", word);
    input.value = "";
    input.dispatchEvent(new Event("input"));
    live.querySelector("th button").click();
    if (live.querySelectorAll("tbody tr").length !== rows.length) say("sorting loses rows", live.textContent);
  }

  if (document.images.length || document.querySelector("b, iframe, object")) say("a name became an element", "");
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = "seen:" + JSON.stringify({ wrong, marks, charts: document.querySelectorAll(".chart").length, width: wide }) + ":end";
  document.body.append(seen);
});
