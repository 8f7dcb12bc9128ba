// Shows what one block does, step by step. Names and lines of the source are text that anybody may
// have written: they become text nodes, never markup.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("steps").textContent);
  const kWarp = 32;
  const [across, down, deep] = data.block_size;
  const threads = across * down * deep;
  const warps = Math.ceil(threads / kWarp);
  const last = data.steps.length - 1;
  const state = { at: 0, warp: 0, thread: -1, timer: 0 };

  // ---- elements of the page ---------------------------------------------------------------------

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const rect = (x, y, width, height, kind) => svg("rect", { x, y, width, height, class: kind });
  const many = (count, word) => count.toLocaleString("en-US").replaceAll(",", "\u202f") + " " + word + (count === 1 ? "" : word.endsWith("s") ? "es" : "s");

  // ---- the steps --------------------------------------------------------------------------------

  function forEachAccess(step, visit) {
    for (let i = 0; i < step.threads.length; i += 4) {
      const [first, count, offset, growth] = step.threads.slice(i, i + 4);
      for (let n = 0; n < count; ++n) visit(first + n, offset + n * growth);
    }
  }
  // Of each array: its kind of element, when each element was first read and written, the rows and
  // columns that the block touches. Of each thread: its last step.
  const arrays = data.arrays.map((array) => {
    const [planes, rows, columns] = array.layout;
    return Object.assign({ planes, rows, columns, elements: array.bytes / array.element, firstRead: new Map(), firstWrite: new Map(), low: [rows, columns], high: [-1, -1] }, array);
  });
  const lastStep = new Int32Array(threads).fill(-1);
  function elementsOf(array, step, offset) {
    const first = Math.floor(offset / array.element);
    const count = Math.max(1, Math.ceil(step.bytes / array.element));
    return Array.from({ length: count }, (_, i) => first + i);
  }
  function placeOf(array, element) {
    const inPlane = ((element % (array.rows * array.columns)) + array.rows * array.columns) % (array.rows * array.columns);
    return { plane: Math.floor(element / (array.rows * array.columns)), row: Math.floor(inPlane / array.columns), column: inPlane % array.columns };
  }
  const isInside = (array, element) => element >= 0 && element < array.elements;
  data.steps.forEach((step, number) => {
    const array = arrays[step.array];
    forEachAccess(step, (thread, offset) => {
      lastStep[thread] = number;
      if (!array) return;
      for (const element of elementsOf(array, step, offset)) {
        if (!isInside(array, element)) continue;
        const times = step.kind === "read" ? array.firstRead : array.firstWrite;
        if (!times.has(element)) times.set(element, number);
        const { row, column } = placeOf(array, element);
        array.low = [Math.min(array.low[0], row), Math.min(array.low[1], column)];
        array.high = [Math.max(array.high[0], row), Math.max(array.high[1], column)];
      }
    });
  });
  const inRanges = (ranges) => {
    const all = new Set();
    for (const [first, end] of ranges) for (let i = first; i <= end; ++i) all.add(i);
    return all;
  };
  const unwritten = inRanges(data.unwritten);
  const wrong = inRanges(data.wrong);
  const markedThreads = new Map(); // by step
  for (const mark of data.marks) {
    for (const [step, list] of mark.steps) {
      if (!markedThreads.has(step)) markedThreads.set(step, new Set());
      for (const thread of list) markedThreads.get(step).add(thread);
    }
  }
  const markedSteps = [...markedThreads.keys()].sort((a, b) => a - b);
  const barriers = data.steps.flatMap((step, number) => (step.kind === "barrier" ? [number] : []));

  // ---- the block --------------------------------------------------------------------------------

  const usesRows = across <= kWarp && threads > across;
  const gridColumns = usesRows ? across : Math.min(threads, kWarp);
  const cellSize = Math.max(7, Math.min(22, Math.floor(300 / gridColumns)));
  const cellAt = (thread) => [(thread % gridColumns) * cellSize, Math.floor(thread / gridColumns) * cellSize];
  const threadName = (thread) => "(" + (thread % across) + ", " + (Math.floor(thread / across) % down) + ", " + Math.floor(thread / (across * down)) + ")";
  const gridHeight = Math.ceil(threads / gridColumns) * cellSize;
  const threadCells = [];
  const grid = svg("svg", { viewBox: "-2 -2 " + (gridColumns * cellSize + 4) + " " + (gridHeight + 4), width: gridColumns * cellSize + 4, height: gridHeight + 4, class: "threads", tabindex: 0, role: "group", "aria-label": "The threads of the block; arrow keys choose one" });
  for (let thread = 0; thread < threads; ++thread) {
    const [x, y] = cellAt(thread);
    const cell = rect(x, y, cellSize, cellSize, "idle");
    cell.append(svg("title", {}, "thread " + threadName(thread) + ", warp " + Math.floor(thread / kWarp) + ", lane " + (thread % kWarp)));
    cell.addEventListener("click", () => choose(thread));
    threadCells.push(cell);
    grid.append(cell);
  }
  const gridMarks = svg("g", { "pointer-events": "none" });
  grid.append(gridMarks);

  function outlineOf(first, end, kind) {
    // Whole rows as one frame, parts of rows as one frame each.
    const frames = [];
    for (let thread = first; thread < end;) {
      const column = thread % gridColumns;
      const whole = column === 0 ? Math.floor((end - thread) / gridColumns) : 0;
      const count = whole > 0 ? whole * gridColumns : Math.min(end - thread, gridColumns - column);
      const [x, y] = cellAt(thread);
      frames.push(rect(x, y, Math.min(count, gridColumns) * cellSize, Math.max(1, whole) * cellSize, kind));
      thread += count;
    }
    return frames;
  }

  function drawThreads(step, doing) {
    threadCells.forEach((cell, thread) => {
      const ended = !data.is_cut && lastStep[thread] < state.at;
      cell.setAttribute("class", doing.has(thread) ? step.kind : ended ? "ended" : "idle");
    });
    const marks = outlineOf(state.warp * kWarp, Math.min(threads, (state.warp + 1) * kWarp), "warp");
    for (const thread of markedThreads.get(state.at) || []) {
      const [x, y] = cellAt(thread);
      marks.push(rect(x + 1, y + 1, cellSize - 2, cellSize - 2, "marked"));
    }
    if (state.thread >= 0) {
      const [x, y] = cellAt(state.thread);
      marks.push(svg("circle", { cx: x + cellSize / 2, cy: y + cellSize / 2, r: cellSize / 4, class: "chosen" }));
    }
    gridMarks.replaceChildren(...marks);
  }

  // ---- arrays -----------------------------------------------------------------------------------

  const kRows = 40;
  const kColumns = 64;
  const places = html("div", { class: "arrays" });
  // Where the drawn part of an array begins, in one direction.
  function windowOf(array, axis, most, size, now) {
    const low = Math.max(0, array.low[axis] - 1);
    const high = Math.min(size - 1, array.high[axis] + 1);
    if (high - low < most) return [low, Math.max(low, high)];
    const begin = Math.max(0, Math.min(now - 2, size - most));
    return [begin, begin + most - 1];
  }
  for (const array of arrays) {
    array.plane = 0;
    array.now = [array.low[0], array.low[1]];
    array.caption = html("figcaption");
    array.place = html("div");
    array.figure = html("figure", {}, array.caption, array.place);
    places.append(array.figure);
  }

  function drawArray(array, step, isNow) {
    const touched = new Map(); // element -> threads
    const outside = new Set();
    if (isNow) {
      forEachAccess(step, (thread, offset) => {
        for (const element of elementsOf(array, step, offset)) {
          if (!isInside(array, element)) outside.add(element);
          else if (touched.has(element)) touched.get(element).push(thread);
          else touched.set(element, [thread]);
        }
      });
      // The chosen warp decides what is seen, if it does anything here.
      const ofWarp = [...touched].filter(([, list]) => list.some((thread) => Math.floor(thread / kWarp) === state.warp));
      const seen = (ofWarp.length ? ofWarp : [...touched]).map(([element]) => element);
      if (seen.length) {
        const first = placeOf(array, Math.min(...seen));
        array.plane = first.plane;
        array.now = [first.row, Math.min(...seen.map((element) => placeOf(array, element).column))];
      }
    }
    const [top, bottom] = windowOf(array, 0, kRows, array.rows, array.now[0]);
    const [left, right] = windowOf(array, 1, kColumns, array.columns, array.now[1]);
    const width = array.place.clientWidth || 230;
    const size = Math.max(4, Math.min(16, Math.floor((width - 4) / (right - left + 1)), Math.floor(260 / (bottom - top + 1))));
    const wide = (right - left + 1) * size;
    const high = (bottom - top + 1) * size;
    const picture = svg("svg", { viewBox: "-2 -2 " + (wide + 4) + " " + (high + 4), width: wide + 4, height: high + 4, role: "img", "aria-label": array.name });
    picture.append(
      svg("defs", {}, svg("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("line", { x1: 0, y1: 0, x2: 0, y2: 4, class: "cross" }))));
    const marked = markedThreads.get(state.at) || new Set();
    const over = [];
    for (let row = top; row <= bottom; ++row) {
      for (let column = left; column <= right; ++column) {
        const element = (array.plane * array.rows + row) * array.columns + column;
        if (element >= array.elements) continue;
        const x = (column - left) * size;
        const y = (row - top) * size;
        const list = touched.get(element);
        const before = (times) => times.has(element) && times.get(element) <= state.at;
        let kind = before(array.firstWrite) ? "was-write" : before(array.firstRead) ? "was-read" : "cell";
        if (list) kind = step.kind + (list.some((thread) => Math.floor(thread / kWarp) === state.warp) ? "" : " other");
        const cell = rect(x, y, size, size, kind);
        cell.setAttribute("stroke", "var(--line)");
        cell.setAttribute("stroke-width", "0.5");
        picture.append(cell);
        if (list && list.some((thread) => marked.has(thread))) over.push(rect(x + 1, y + 1, size - 2, size - 2, "marked"));
        if (list && list.includes(state.thread)) over.push(rect(x, y, size, size, "chosen"));
        if (array.role !== "output") continue;
        if (unwritten.has(element)) over.push(rect(x, y, size, size, "unwritten"));
        if (wrong.has(element)) over.push(svg("path", { d: "M" + x + " " + y + "l" + size + " " + size + "m0 " + -size + "l" + -size + " " + size, class: "cross" }));
      }
    }
    picture.append(...over, rect(0, 0, wide, high, "frame"));
    const whole = array.planes > 1 ? array.planes + " × " + array.rows + " × " + array.columns : array.rows + " × " + array.columns;
    // Of what is drawn, what the block touches: a border of one element shows that there is more.
    const used = (name, axis, begin, end, size) => (end - begin + 1 < size ? ", " + name + " " + Math.max(begin, array.low[axis]) + " to " + Math.min(end, array.high[axis]) : "");
    const part = (array.planes > 1 ? ", plane " + array.plane : "") + used("rows", 0, top, bottom, array.rows) + used("columns", 1, left, right, array.columns);
    array.caption.replaceChildren(html("strong", {}, array.name), (array.role && array.role !== array.name ? " (the " + array.role + ")" : "") + (array.name === array.space + " memory" ? ", " : ", " + array.space + " memory, ") + whole + part);
    array.figure.classList.toggle("now", isNow);
    const numbers = [...outside].sort((a, b) => a - b);
    const lost = numbers.length ? html("p", { class: "outside" }, "Outside of it: " + (numbers.length === 1 ? "element " + numbers[0] : many(numbers.length, "element") + ", " + numbers[0] + " to " + numbers[numbers.length - 1]) + "; it has " + many(array.elements, "element") + ".") : null;
    array.place.replaceChildren(...[picture, lost].filter((child) => child !== null));
  }

  // ---- what a warp asks for ---------------------------------------------------------------------

  const request = html("div");
  function lanesStrip(step, lanes) {
    const size = 9;
    const strip = svg("svg", { viewBox: "-1 -1 " + (kWarp * size + 2) + " " + (size + 14), width: kWarp * size + 2, height: size + 14, class: "strip", role: "img", "aria-label": "lanes" });
    for (let lane = 0; lane < kWarp; ++lane) {
      const exists = state.warp * kWarp + lane < threads;
      strip.append(rect(lane * size, 0, size, size, lanes.has(lane) ? step.kind : exists ? "idle" : "ended"));
      if (lane % 8 === 0 || lane === kWarp - 1) strip.append(svg("text", { x: lane === kWarp - 1 ? kWarp * size : lane * size, y: size + 11, "text-anchor": lane === kWarp - 1 ? "end" : "start" }, String(lane)));
    }
    return strip;
  }
  function wordsOf(array, step, lanes) {
    const words = new Map(); // word -> lanes
    for (const [lane, offset] of lanes) {
      for (let byte = 0; byte < step.bytes; byte += 4) {
        const word = Math.floor((array.begin + offset + byte) / 4);
        if (words.has(word)) words.get(word).push(lane);
        else words.set(word, [lane]);
      }
    }
    return words;
  }
  function drawSectors(words, kind) {
    const sectors = [...new Set([...words.keys()].map((word) => Math.floor(word / 8)))].sort((a, b) => a - b);
    const size = 8;
    const inRow = 4;
    const gap = 6;
    const wide = inRow * (8 * size + gap);
    const high = Math.ceil(sectors.length / inRow) * (size + gap);
    const picture = svg("svg", { viewBox: "-1 -1 " + (wide + 2) + " " + (high + 2), width: wide + 2, height: high + 2, class: "strip", role: "img", "aria-label": "sectors of 32 bytes" });
    sectors.forEach((sector, i) => {
      for (let word = 0; word < 8; ++word) {
        picture.append(rect((i % inRow) * (8 * size + gap) + word * size, Math.floor(i / inRow) * (size + gap), size, size, words.has(sector * 8 + word) ? kind : "cell"));
      }
    });
    return picture;
  }
  function drawBanks(words, asked) {
    const needed = Math.max(1, Math.ceil(asked / 128)); // passes without a conflict
    const banks = Array.from({ length: 32 }, () => []);
    for (const word of words.keys()) banks[((word % 32) + 32) % 32].push(word);
    const size = 9;
    const high = Math.max(1, ...banks.map((bank) => bank.length)) * size;
    const picture = svg("svg", { viewBox: "-1 -1 " + (32 * size + 2) + " " + (high + 14), width: 32 * size + 2, height: high + 14, class: "strip", role: "img", "aria-label": "banks of shared memory" });
    banks.forEach((bank, number) => {
      const times = bank.length / needed;
      const depth = times >= 8 ? 8 : times >= 4 ? 4 : times > 1 ? 2 : 1;
      for (let i = 0; i < Math.max(1, bank.length); ++i) picture.append(rect(number * size, high - (i + 1) * size, size, size, bank.length ? "pass-" + depth : "cell"));
      if (number % 8 === 0 || number === 31) picture.append(svg("text", { x: number * size, y: high + 11 }, String(number)));
    });
    return picture;
  }
  function drawRequest(step) {
    const lanes = new Map();
    forEachAccess(step, (thread, offset) => {
      if (Math.floor(thread / kWarp) === state.warp) lanes.set(thread % kWarp, offset);
    });
    const parts = [html("h2", {}, "Warp " + state.warp + ": " + lanes.size + " of " + Math.min(kWarp, threads - state.warp * kWarp) + " lanes"), lanesStrip(step, lanes)];
    const array = arrays[step.array];
    const index = step.requests.findIndex((value, i) => i % 3 === 0 && value === state.warp);
    if (array && index >= 0) {
      const [, all, conflicts] = step.requests.slice(index, index + 3);
      const words = wordsOf(array, step, lanes);
      const asked = many(lanes.size * step.bytes, "byte");
      const verb = step.kind === "read" ? "reads" : step.kind === "write" ? "writes" : "changes";
      if (array.space === "global") {
        const needed = Math.min(all, Math.max(1, Math.ceil((lanes.size * step.bytes) / 32)));
        parts.push(html("p", {}, "It " + verb + " " + asked + " with " + many(all, "sector") + " of 32 bytes" + (all > needed ? "; side by side, " + needed + " would do." : ".")), drawSectors(words, step.kind));
      } else if (array.space === "shared") {
        parts.push(html("p", {}, "Banks 0 to 31, and the words of each that the lanes ask for: " + many(all, "pass") + (step.kind === "atomic" ? "." : conflicts > 0 ? ", " + conflicts + " of them because of conflicts." : ", no conflict.")), drawBanks(words, lanes.size * step.bytes));
      } else {
        parts.push(html("p", {}, all === 1 ? "All lanes read the same word of constant memory: one pass." : many(all, "different word") + " of constant memory, one after the other."));
      }
      if (step.kind === "atomic" && conflicts > 0) parts.push(html("p", {}, many(conflicts, "lane") + " wait because another one changes the same address."));
    } else if (array) {
      parts.push(html("p", { class: "quiet" }, "This warp does nothing in this step."));
    }
    request.replaceChildren(...parts);
  }

  // ---- source -----------------------------------------------------------------------------------

  const sourceTitle = html("h2");
  const sourceList = html("ol", { tabindex: 0, "aria-label": "Source" });
  let shownFile = null;
  function drawSource(place) {
    const lines = data.sources[place.file];
    if (lines && shownFile !== place.file) {
      shownFile = place.file;
      sourceTitle.textContent = place.file;
      sourceList.replaceChildren(...lines.map((line, i) => html("li", {}, html("span", {}, String(i + 1)), line)));
    }
    for (const item of sourceList.querySelectorAll(".here")) item.classList.remove("here");
    const item = lines && place.line > 0 ? sourceList.children[place.line - 1] : null;
    if (!item) return;
    item.classList.add("here");
    const above = item.offsetTop - sourceList.offsetTop;
    if (above < sourceList.scrollTop + 30 || above > sourceList.scrollTop + sourceList.clientHeight - 50) sourceList.scrollTop = above - sourceList.clientHeight / 2;
  }

  // ---- controls ---------------------------------------------------------------------------------

  const slider = html("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Step", oninput: () => go(Number(slider.value)) });
  const words = html("output", { "aria-live": "polite" });
  const timeline = html("canvas", { "aria-hidden": "true", onclick: (event) => go(Math.floor((event.offsetX / timeline.clientWidth) * (last + 1))) });
  const warpChoice = html("select", { "aria-label": "Warp", onchange: () => { state.warp = Number(warpChoice.value); state.thread = -1; draw(); } },
    ...Array.from({ length: warps }, (_, warp) => html("option", { value: warp }, "warp " + warp)));
  const playButton = html("button", { type: "button", onclick: play }, "Play");
  const next = (list) => list.find((number) => number > state.at);
  const before = (list) => list.filter((number) => number < state.at).pop();
  const button = (label, title, action) => html("button", { type: "button", title, onclick: action }, label);
  const goTo = (number) => { if (number !== undefined) go(number); };

  function drawTimeline() {
    const scale = window.devicePixelRatio || 1;
    timeline.width = timeline.clientWidth * scale;
    timeline.height = timeline.clientHeight * scale;
    const context = timeline.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue("--" + name);
    const wide = timeline.width / (last + 1);
    data.steps.forEach((step, number) => {
      context.fillStyle = colour(step.kind === "meeting" ? "barrier" : step.kind);
      context.fillRect(number * wide, timeline.height * 0.25, Math.max(1, wide), timeline.height * 0.75);
    });
    context.fillStyle = colour("wrong");
    for (const number of markedSteps) context.fillRect(number * wide, 0, Math.max(2, wide), timeline.height * 0.5);
    context.fillStyle = colour("ink");
    context.fillRect(state.at * wide - scale, 0, Math.max(3 * scale, wide), timeline.height);
  }

  // "tile[2][5]", as its rows and columns are drawn.
  function elementOfChosen(step, array) {
    let text = "";
    forEachAccess(step, (thread, offset) => {
      if (thread !== state.thread) return;
      const element = Math.floor(offset / array.element);
      const { plane, row, column } = placeOf(array, element);
      text = array.name + (isInside(array, element) ? (array.planes > 1 ? "[" + plane + "]" : "") + "[" + row + "][" + column + "], element " + element : ", element " + element + ", which is outside");
    });
    return text;
  }
  function describe(step, place, count) {
    const array = arrays[step.array];
    const line = place.line > 0 ? "Line " + place.line + ": " : "";
    const idle = threads - count - (data.is_cut ? 0 : lastStep.reduce((ended, number) => ended + (number < state.at ? 1 : 0), 0));
    const rest = idle > 0 ? " " + many(idle, "thread") + (idle === 1 ? " is" : " are") + " idle." : "";
    const who = many(count, "thread");
    let text;
    if (step.kind === "barrier") text = "all " + who + " that have not ended have come to " + (place.call || "the barrier") + ", and go on.";
    else if (step.kind === "meeting") text = who + " meet their warp in " + place.call + "." + rest;
    else if (step.kind === "products") text = "the warps of " + who + " multiply on tensor cores." + rest;
    else {
      const verb = { read: "read", write: "write", atomic: "change, in one operation each," }[step.kind];
      text = who + " " + verb + " " + step.bytes + " bytes of " + array.name + " each" + (array.name === array.space + " memory" ? "." : ", in " + array.space + " memory.") + rest;
    }
    const own = array ? elementOfChosen(step, array) : "";
    if (own) text += " Thread " + threadName(state.thread) + ": " + own + ".";
    return "Step " + (state.at + 1) + " of " + (last + 1) + (data.is_cut ? " and more" : "") + ". " + line + text;
  }

  function draw() {
    const step = data.steps[state.at];
    const place = data.places[step.place];
    const doing = new Set();
    forEachAccess(step, (thread) => doing.add(thread));
    slider.value = state.at;
    slider.setAttribute("aria-valuetext", "step " + (state.at + 1));
    warpChoice.value = state.warp;
    const marks = data.marks.filter((mark) => mark.steps.some(([number]) => number === state.at)).map((mark) => mark.kind);
    words.replaceChildren(describe(step, place, doing.size), marks.length ? html("strong", { class: "outside" }, " Marked: " + [...new Set(marks)].map((kind) => meanings[kind]).join(", ") + ".") : "");
    drawThreads(step, doing);
    arrays.forEach((array, number) => drawArray(array, step, number === step.array));
    drawRequest(step);
    drawSource(place);
    drawTimeline();
  }
  const meanings = { race: "a race", beyond: "outside of an array", unset: "read before it was written" };

  function go(number) {
    state.at = Math.max(0, Math.min(last, number));
    draw();
  }
  function choose(thread) {
    state.thread = Math.max(0, Math.min(threads - 1, thread));
    state.warp = Math.floor(state.thread / kWarp);
    draw();
  }
  function play() {
    if (state.timer) {
      clearInterval(state.timer);
      state.timer = 0;
    } else {
      if (state.at === last) go(0);
      state.timer = setInterval(() => (state.at < last ? go(state.at + 1) : play()), 400);
    }
    playButton.textContent = state.timer ? "Pause" : "Play";
  }
  const keys = {
    ArrowRight: () => go(state.at + 1), ArrowLeft: () => go(state.at - 1), Home: () => go(0), End: () => go(last),
    PageDown: () => goTo(next(barriers)), PageUp: () => goTo(before(barriers)), m: () => goTo(next(markedSteps)), M: () => goTo(before(markedSteps)),
    w: () => { state.warp = (state.warp + 1) % warps; state.thread = -1; draw(); },
    W: () => { state.warp = (state.warp + warps - 1) % warps; state.thread = -1; draw(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === warpChoice) return;
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: gridColumns, ArrowUp: -gridColumns };
    if (event.target === grid && event.key in moves) choose((state.thread < 0 ? state.warp * kWarp : state.thread) + moves[event.key]);
    else if (event.key === " " && event.target.tagName !== "BUTTON") play();
    else if (event.key in keys) keys[event.key]();
    else return;
    event.preventDefault();
  });

  function drawMarks() {
    if (!data.marks.length) return null;
    const list = html("ul");
    for (const mark of data.marks) {
      const first = mark.steps.length ? mark.steps[0][0] : -1;
      list.append(html("li", {}, html("pre", {}, mark.text), first >= 0 ? button("Show step " + (first + 1), "Go to the first of these steps", () => { state.warp = Math.floor(mark.steps[0][1][0] / kWarp); state.thread = mark.steps[0][1][0]; go(first); }) : null));
    }
    return html("div", { class: "marks" }, list);
  }
  const sample = (kind) => svg("svg", { width: 12, height: 12 }, rect(1, 1, 10, 10, kind));
  const key = html("p", { class: "key quiet" }, ...[["read", "reads"], ["write", "writes"], ["barrier", "meets"], ["idle", "idle"], ["ended", "has ended"], ["marked", "marked"]].map(([kind, label]) => html("span", {}, sample(kind), label)));
  const memoryKey = html("p", { class: "key quiet" }, ...[["read", "read now"], ["write", "written now"], ["read other", "by other warps"], ["was-read", "read earlier"], ["was-write", "written earlier"], ...(unwritten.size ? [["unwritten", "never written"]] : [])].map(([kind, label]) => html("span", {}, sample(kind), label)));

  const marks = drawMarks();
  document.querySelector("main").append(
    html("p", { class: "quiet" }, data.summary),
    ...(marks ? [marks] : []),
    html("div", { class: "controls" },
      html("div", { class: "row" },
        button("|◀", "First step (Home)", keys.Home), button("◀", "One step back (←)", keys.ArrowLeft), playButton, button("▶", "One step on (→)", keys.ArrowRight), button("▶|", "Last step (End)", keys.End),
        slider, ...(barriers.length ? [button("Next barrier", "PageDown; PageUp goes back", keys.PageDown)] : []), ...(markedSteps.length ? [button("Next mark", "M; capital M goes back", keys.m)] : []), warpChoice),
      timeline, words),
    html("div", { class: "views" },
      html("section", { "aria-label": "Threads" }, html("h2", {}, "Threads of the block"), grid, key, request),
      html("section", { "aria-label": "Memory" }, html("h2", {}, "Memory"), memoryKey, places),
      html("section", { class: "source", "aria-label": "Source" }, sourceTitle, sourceList,
        html("p", { class: "quiet" }, "Keys: ← and → go one step, Home and End to the first and the last one, PageUp and PageDown to the next barrier, m to the next mark. Space plays. w takes the next warp. Tab leads to the threads, where arrows choose one."))));
  draw();
  let waiting = 0;
  let drawnWidth = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === drawnWidth) return;
    drawnWidth = document.body.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 100);
  }).observe(document.body);
})();
