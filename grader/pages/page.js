// What a page does beyond showing text: charts (by uPlot), maps, tables that sort and filter.
"use strict";

(function () {
  // Okabe and Ito's colours, which most colour-blind readers tell apart; dashes help in grey.
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a"];
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4]];
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function drawChart(place, chart) {
    const named = chart.places.length > 0;
    place.textContent = "";
    // Names need room: where there is too little, days are left out, for one can count on from the
    // others; with other names the chart scrolls inside its box.
    const day = /^\d{4}-\d\d-\d\d$/;
    const days = named && chart.places.every((name) => day.test(name));
    const needed = 100 + 16 * chart.places.length;
    const width = named && !days ? Math.max(place.clientWidth, needed) : place.clientWidth;
    const step = days ? Math.ceil((needed - 100) / Math.max(100, width - 100)) : 1;
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", chart.title + "; the numbers follow as a table");
    const longest = Math.max(0, ...chart.places.map((name) => name.length));
    const axis = () => ({ stroke: style("--ink"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 } });
    const label = (value) => (value === null ? "" : String(Number(value.toPrecision(3))));
    const options = {
      width,
      height: named ? 300 + 6 * longest : 380,
      cursor: { focus: { prox: 20 } },
      scales: {
        x: named ? { time: false, range: [-0.5, chart.x.length - 0.5] } : { time: false, distr: chart.logX ? 3 : 1 },
        y: { distr: chart.logY ? 3 : 1 },
      },
      axes: [
        named
          ? Object.assign(axis(), {
              rotate: -60,
              size: 20 + 6 * longest,
              splits: () => chart.x.filter((x, i) => i % step === 0),
              values: () => chart.places.filter((name, i) => i % step === 0),
            })
          : Object.assign(axis(), { label: chart.xTitle, values: (u, splits) => splits.map(label) }),
        Object.assign(axis(), { label: chart.yTitle, size: 70, values: (u, splits) => splits.map(label) }),
      ],
      series: [{ label: chart.xTitle, value: (u, value) => (value === null ? "" : named ? chart.places[value] : label(value)) }].concat(
        chart.lines.map((line, i) => ({
          label: line.label,
          stroke: colours[i % colours.length],
          dash: dashes[i % dashes.length],
          width: named ? 1.5 : 2,
          spanGaps: true,
          points: { show: true, size: 8, fill: i % 2 ? style("--paper") : colours[i % colours.length] },
          value: (u, value) => (value === null ? "–" : label(value)),
        })),
      ),
    };
    const plot = new uPlot(options, [chart.x].concat(chart.lines.map((line) => line.values)), place);
    letKeysSwitchLines(plot);
    return plot;
  }

  // The legend hides and shows lines by a click. By keyboard it is one stop of Tab: arrows go from
  // line to line, Enter and Space switch.
  function letKeysSwitchLines(plot) {
    const rows = [...plot.root.querySelectorAll(".u-legend .u-series")].slice(1);
    rows.forEach((row, i) => {
      row.tabIndex = i === 0 ? 0 : -1;
      row.setAttribute("role", "button");
      const tell = () => row.setAttribute("aria-pressed", String(plot.series[i + 1].show));
      tell();
      row.addEventListener("click", tell);
      row.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step) {
          const next = rows[(i + step + rows.length) % rows.length];
          row.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
        } else if (event.key === "Enter" || event.key === " ") {
          plot.setSeries(i + 1, { show: !plot.series[i + 1].show });
          tell();
        } else {
          return;
        }
        event.preventDefault();
      });
    });
  }

  function drawAllCharts() {
    for (const data of document.querySelectorAll("script.chart-data")) {
      drawChart(data.parentElement.querySelector(".chart"), JSON.parse(data.textContent));
    }
  }

  function drawMaps(place, grid) {
    const scale = Math.max(1, Math.floor(112 / Math.max(grid.width, grid.height)));
    for (const map of grid.maps) {
      const canvas = document.createElement("canvas");
      canvas.width = grid.width;
      canvas.height = grid.height;
      canvas.style.width = grid.width * scale + "px";
      const context = canvas.getContext("2d");
      const image = context.createImageData(grid.width, grid.height);
      let wrong = 0;
      for (let i = 0; i < grid.width * grid.height; ++i) {
        const grey = parseInt(map.grey.substr(2 * i, 2), 16);
        const bad = map.wrong[i] === "1";
        wrong += bad ? 1 : 0;
        image.data.set(bad ? [213, 0, 109, 255] : [grey, grey, grey, 255], 4 * i);
      }
      context.putImageData(image, 0, 0);
      const words = map.label + (map.wrong ? (wrong ? ": " + wrong + " wrong" : ": right") : "");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", words);
      const box = document.createElement("div");
      box.append(canvas, words);
      place.append(box);
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
  for (const data of document.querySelectorAll("script.maps-data")) {
    drawMaps(data.parentElement.querySelector(".maps"), JSON.parse(data.textContent));
  }
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
