// The graph of a run. Nodes in sight are elements that can be read and clicked; from far away all of them are a few paths
// by status, so that thousands move smoothly. Places come from the server, statuses are asked for while the run goes on.
(() => {
  "use strict";
  const root = document.getElementById("graph");
  if (!root) return;
  const NS = "http://www.w3.org/2000/svg";
  const canvas = root.querySelector("svg.graph-canvas"), world = root.querySelector("[data-world]");
  const note = root.querySelector("[data-graph-note]"), said = root.querySelector("[data-graph-said]");
  const NEAR = 0.5; // nodes are drawn with words from this scale on
  const DONE = ["succeeded", "failed", "canceled", "skipped", "upstream_failed"];
  // Of a layer, the first of these that occurs is what it is drawn like.
  const LOUD = ["failed", "running", "waiting", "queued", "ready", "upstream_failed", "canceled", "pending", "succeeded", "skipped"];
  const view = { x: 0, y: 0, k: 1 };
  let touched = false, chart = null, states = null, at = -1, drawn = null, timer = 0, fitted = false;
  let box = canvas.getBoundingClientRect();

  const make = (name, attributes, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const word = (status) => status.replace("_", " ");
  // As much of a text as the room takes, its beginning and its end: letters are of many widths.
  const pen = document.createElement("canvas").getContext("2d"), face = getComputedStyle(document.body).fontFamily;
  const cut = (text, room, font) => {
    pen.font = `${font} ${face}`;
    const letters = [...text.slice(0, 300)], wide = (shown) => pen.measureText(shown).width;
    let most = letters.length, shown = letters.join("");
    while (most > 3 && wide(shown) > room) {
      most = Math.min(most - 1, Math.max(3, Math.floor((most * room) / wide(shown))));
      shown = `${letters.slice(0, Math.ceil(most / 2)).join("")}…${letters.slice(letters.length - Math.floor(most / 2)).join("")}`;
    }
    return shown;
  };

  // What a node shows: a step's status, or the counts of a layer's.
  const statusAt = (position) => (states && states.names[states.letters[position]]) || "pending";
  function look(node) {
    if (node.kind !== "layer") return { status: statusAt(node.positions[0]), counts: null };
    const counts = {};
    for (let p = node.positions[0]; p <= node.positions[1]; p++) counts[statusAt(p)] = (counts[statusAt(p)] || 0) + 1;
    return { status: LOUD.find((status) => counts[status]) || "pending", counts };
  }
  function bar(counts, x, y, width) {
    const group = make("g", {}), total = Object.values(counts).reduce((a, b) => a + b, 0) || 1;
    let left = x;
    for (const status of [...DONE, "running", "waiting", "queued", "ready", "pending"]) {
      if (!counts[status]) continue;
      const part = Math.max((width * counts[status]) / total, 2);
      group.append(make("rect", { class: `s s-${status}`, x: left.toFixed(1), y, width: Math.min(part, x + width - left).toFixed(1), height: 5 }));
      left += part;
    }
    return group;
  }
  function told(node, { status, counts }) {
    const parts = [node.name];
    if (counts) parts.push(Object.entries(counts).map(([name, n]) => `${n} ${word(name)}`).join(", "));
    else parts.push(word(status));
    const items = states?.items[node.positions[0]];
    if (items && !counts) parts.push(`${items[1]} of ${items[0]} items ended, ${items[2]} failed`);
    if (node.note) parts.push(node.note);
    if (states?.held.includes(node.positions[0]) && !counts && !DONE.includes(status)) parts.push("held");
    return parts.join(", ");
  }
  const KINDS = { items: "runs", workflow: "child", wait_for: "waiting", sleep: "schedules", layer: "pools", pass: "next" };
  function element(node, index) {
    const seen = look(node), [w, h] = chart.size, position = node.positions[0];
    const group = make("g", { class: `node s-${seen.status}${node.handler ? " handler" : ""}${index === at ? " at" : ""}${node.kind === "layer" ? " layer" : ""}`, transform: `translate(${node.x} ${node.y})`, "data-node": index });
    if (node.kind === "layer" || node.kind === "items") group.append(make("rect", { class: "behind", x: 4, y: 4, width: w, height: h, rx: 7 }));
    group.append(make("rect", { class: "box", width: w, height: h, rx: 7 }));
    group.append(make("use", { href: `#i-${seen.status}`, class: "icon", x: 8, y: 7, width: 14, height: 14 }));
    group.append(make("text", { class: "name", x: 28, y: 18 }, cut(node.label, w - 36 - (KINDS[node.kind] || states?.children[position] ? 18 : 0), "550 12px")));
    const items = states?.items[position], child = states?.children[position];
    if (seen.counts) group.append(bar(seen.counts, 28, 27, w - 38));
    else if (items) {
      group.append(bar({ failed: items[2], succeeded: items[1] - items[2], pending: items[0] - items[1] }, 28, 25, w - 84));
      group.append(make("text", { class: "note end", x: w - 8, y: 32 }, `${items[1]}/${items[0]}`));
    } else {
      const held = states?.held.includes(position) && !DONE.includes(seen.status) ? "held · " : "";
      group.append(make("text", { class: "note", x: 28, y: 33 }, cut(held + word(seen.status) + (node.note ? ` · ${node.note}` : ""), w - 36, "11px")));
    }
    if (child && !seen.counts) {
      const link = make("a", { href: `/runs/${child.id}`, class: "child" });
      link.append(make("rect", { x: w - 26, y: 4, width: 22, height: 20, rx: 4 }), make("use", { href: "#i-child", class: "icon", x: w - 22, y: 7, width: 14, height: 14 }), make("title", {}, `Its run, ${child.status}`));
      group.append(link);
    } else if (KINDS[node.kind]) group.append(make("use", { href: `#i-${KINDS[node.kind]}`, class: "icon kind", x: w - 20, y: 7, width: 12, height: 12 }));
    group.append(make("title", {}, told(node, seen)));
    return group;
  }
  const made = new Map(); // the elements of nodes, until something about them changes
  function once(node, index) {
    if (!made.has(index)) made.set(index, element(node, index));
    return made.get(index);
  }
  function path(points) {
    let [x, y] = points, d = `M${x} ${y}`;
    for (let i = 2; i < points.length; i += 2) {
      const [left, middle] = [points[i], points[i + 1]];
      if (middle === y) d += `H${left}`;
      else d += `C${(x + left) / 2} ${y} ${(x + left) / 2} ${middle} ${left} ${middle}`;
      [x, y] = [left, middle];
    }
    return d;
  }

  // Drawing: what is in sight and one screen around it, anew when the view has left that or comes nearer or further.
  function sight(margin) {
    const w = box.width / view.k, h = box.height / view.k, x = -view.x / view.k, y = -view.y / view.k;
    return [x - w * margin, y - h * margin, x + w * (1 + margin), y + h * (1 + margin)];
  }
  const within = ([a, b, c, d], [e, f, g, h]) => a >= e && b >= f && c <= g && d <= h;
  function draw(force) {
    if (!chart) return;
    const near = view.k >= NEAR;
    const deeper = drawn && view.k > 1.5 * drawn.k; // what is drawn is much more than what is seen
    if (!force && drawn && drawn.near === near && (!near || (within(sight(0), drawn.area) && !deeper))) return;
    if (force) made.clear();
    const area = near ? sight(0.3) : [-1e9, -1e9, 1e9, 1e9];
    drawn = { near, area, k: view.k };
    const [w, h] = chart.size, inside = (n) => n.x + w >= area[0] && n.y + h >= area[1] && n.x <= area[2] && n.y <= area[3];
    const lines = { success: "", failure: "", complete: "", skipped: "", own: "" }, words = [];
    for (const line of chart.lines) {
      const [source, target, on, text, points] = line;
      const a = chart.nodes[source], b = chart.nodes[target];
      if (Math.max(a.x, b.x) + w < area[0] || Math.min(a.x, b.x) > area[2]) continue;
      const top = (line.top ??= Math.min(...points.filter((_, i) => i % 2))), bottom = (line.bottom ??= Math.max(...points.filter((_, i) => i % 2)));
      if (bottom < area[1] || top > area[3]) continue;
      lines[on] += (line.d ??= path(points));
      if (source === at || target === at) lines.own += line.d;
      if (text && near) words.push(make("text", { class: "on", x: b.x - 42, y: (points.at(-1) + points.at(-3)) / 2 - 4 }, text));
    }
    const shapes = Object.entries(lines).filter(([, d]) => d).map(([on, d]) => make("path", { class: `line ${on}`, d }));
    let nodes;
    if (near) nodes = chart.nodes.map((node, index) => (inside(node) ? once(node, index) : null)).filter(Boolean);
    else {
      const far = {};
      chart.nodes.forEach((node) => { const { status } = look(node); far[status] = (far[status] || "") + `M${node.x} ${node.y}h${w}v${h}h${-w}z`; });
      nodes = Object.entries(far).map(([status, d]) => make("path", { class: `far s-${status}`, d }));
      // Readable without colour from far away too: what failed is crossed out, what runs is framed.
      let cross = "", frame = "";
      chart.nodes.forEach((node) => {
        const { status } = look(node);
        if (status === "failed") cross += `M${node.x} ${node.y}l${w} ${h}m0 ${-h}l${-w} ${h}`;
        if (status === "running" || status === "waiting") frame += `M${node.x - 9} ${node.y - 9}h${w + 18}v${h + 18}h${-w - 18}z`;
      });
      if (cross) nodes.push(make("path", { class: "far-cross", d: cross }));
      if (frame) nodes.push(make("path", { class: "far-frame", d: frame }));
      if (at >= 0) nodes.push(make("rect", { class: "far-at", x: chart.nodes[at].x - 14, y: chart.nodes[at].y - 14, width: w + 28, height: h + 28 }));
    }
    world.replaceChildren(...shapes, ...nodes, ...words);
  }
  function place(force) {
    world.style.transform = `translate(${view.x.toFixed(2)}px, ${view.y.toFixed(2)}px) scale(${view.k.toFixed(4)})`;
    draw(force);
  }
  let waiting = false;
  function move() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; place(false); });
  }
  function extent() {
    const [w, h] = chart.size;
    let right = 0, bottom = 0;
    for (const node of chart.nodes) { right = Math.max(right, node.x + w); bottom = Math.max(bottom, node.y + h); }
    return [right, bottom];
  }
  function fit() {
    const [w, h] = extent(), pad = 24;
    view.k = Math.max(Math.min((box.width - 2 * pad) / w, (box.height - 2 * pad) / h, 1.25), 0.01);
    view.x = (box.width - w * view.k) / 2;
    view.y = (box.height - h * view.k) / 2;
    place(true);
  }
  // A large graph begins where something happens, at a scale that can be read.
  function begin() {
    // No taller than what it shows at the scale that fits its width; the stylesheet bounds it.
    const [w, h] = extent(), tools = root.clientHeight - box.height;
    const scale = Math.max(Math.min((box.width - 48) / w, 1.25), NEAR);
    root.style.height = `${Math.round(Math.max(h * scale + 72, 240) + tools)}px`;
    box = canvas.getBoundingClientRect();
    fit();
    if (view.k >= NEAR) return;
    const wanted = chart.nodes.findIndex((node) => ["failed", "running", "waiting"].includes(look(node).status));
    if (chart.nodes.length <= 60) { view.k = 0.8; center(Math.max(wanted, 0)); view.x -= box.width / 4; place(true); }
  }
  function zoom(factor, x = box.width / 2, y = box.height / 2) {
    touched = true;
    const k = Math.max(0.01, Math.min(view.k * factor, 2.5));
    view.x = x - ((x - view.x) * k) / view.k;
    view.y = y - ((y - view.y) * k) / view.k;
    view.k = k;
    move();
  }
  function center(index) {
    const node = chart.nodes[index], [w, h] = chart.size;
    view.x = box.width / 2 - (node.x + w / 2) * view.k;
    view.y = box.height / 2 - (node.y + h / 2) * view.k;
    place(true);
  }

  // Choosing.
  function stand(index, bring = true) {
    at = index;
    const node = chart.nodes[index], [w, h] = chart.size;
    if (bring && view.k < NEAR) { view.k = 0.8; center(index); }
    const [a, b, c, d] = sight(0);
    if (bring && (node.x < a || node.y < b || node.x + w > c || node.y + h > d)) center(index);
    else place(true);
    said.textContent = told(node, look(node));
  }
  function open(index) {
    const node = chart.nodes[index];
    stand(index, false);
    if (node.kind === "layer") location.href = `${root.dataset.steps}&first=${node.positions[0]}&last=${node.positions[1]}`;
    else document.dispatchEvent(new CustomEvent("run:step", { detail: node.positions[0] }));
  }
  function step(dx, dy) {
    if (at < 0) return stand(0);
    const from = chart.nodes[at];
    let best = -1, least = Infinity;
    chart.nodes.forEach((node, index) => {
      const x = node.x - from.x, y = node.y - from.y;
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (index === at || along <= 0 || (dy && x)) return;
      const far = dx ? along * 3 + aside : along;
      if (far < least) { least = far; best = index; }
    });
    if (best >= 0) stand(best);
  }
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) step(...keys[event.key]);
    else if (event.key === "Enter" && at >= 0) open(at);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // Pan and zoom: drag, wheel, two fingers.
  const fingers = new Map();
  let moved = 0, pinch = 0;
  canvas.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, event); moved = 0; pinch = 0; });
  canvas.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    fingers.set(event.pointerId, event);
    if (fingers.size === 1) {
      view.x += event.clientX - last.clientX;
      view.y += event.clientY - last.clientY;
      touched = true;
      moved += Math.abs(event.clientX - last.clientX) + Math.abs(event.clientY - last.clientY);
      if (moved > 4) { canvas.setPointerCapture(event.pointerId); canvas.classList.add("moving"); }
      move();
    } else if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], gap = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (pinch) zoom(gap / pinch, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
      pinch = gap;
      moved = 99;
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => { fingers.delete(event.pointerId); pinch = 0; canvas.classList.remove("moving"); });
  canvas.addEventListener("click", (event) => {
    const group = event.target.closest("[data-node]");
    if (moved > 4 || event.target.closest("a")) return;
    if (group) open(Number(group.dataset.node));
    else if (view.k < NEAR) zoom(NEAR * 2 / view.k, event.clientX - box.left, event.clientY - box.top);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (button && chart) button.dataset.zoom === "fit" ? fit() : zoom(button.dataset.zoom === "in" ? 1.3 : 1 / 1.3);
  });
  new ResizeObserver(() => {
    box = canvas.getBoundingClientRect();
    if (chart && box.width && !(fitted && touched)) { fitted = true; begin(); } else move();
  }).observe(canvas);
  addEventListener("scroll", () => { box = canvas.getBoundingClientRect(); }, { passive: true });

  // Find a step by a part of its name.
  let from = -1;
  root.querySelector("[data-graph-search]").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !chart) return;
    const part = event.target.value.trim().toLowerCase();
    if (!part) return;
    const fits = chart.nodes.map((_, index) => (index + from + 1) % chart.nodes.length);
    const found = fits.find((index) => `${chart.nodes[index].name} ${chart.nodes[index].label}`.toLowerCase().includes(part));
    if (found === undefined) { said.textContent = note.textContent = "No such step in the graph"; return; }
    from = found;
    stand(found);
  });

  // The graph of a function's run grows with what it does: it is drawn anew, and stays where it is looked at.
  const begun = () => states.letters.replaceAll(".", "").length;
  async function grow() {
    const chosen = at >= 0 ? chart.nodes[at].positions[0] : -1;
    const answer = await fetch(root.dataset.graph);
    if (!answer.ok) throw new Error(answer.status);
    chart = await answer.json();
    at = chart.nodes.findIndex((node) => node.positions[0] === chosen);
    note.textContent = `${chart.steps.toLocaleString()} steps`;
    if (fitted && !touched) begin();
  }

  // Statuses, while the run goes on and somebody looks.
  async function ask() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const answer = await fetch(`${root.dataset.states}?known=${states?.known || ""}`, { headers: { "HX-Request": "true", "HX-Current-URL": location.href } });
        if (answer.status === 401) window.ui.signedOut();
        else if (answer.status === 200) {
          const before = states?.status, rows = states ? begun() : -1;
          states = await answer.json();
          if (root.dataset.grows !== undefined && chart && begun() !== rows) await grow();
          if (chart && fitted) place(true);
          document.dispatchEvent(new CustomEvent("run:states", { detail: statusAt }));
          if (before && before !== states.status) document.dispatchEvent(new CustomEvent("run:status", { detail: states.status }));
        } else if (!answer.ok) throw new Error(answer.status);
        if (answer.status !== 401) window.ui.stale("");
      } catch { window.ui.stale("The server cannot be reached; trying again."); }
    }
    const ended = states && ["succeeded", "failed", "canceled"].includes(states.status);
    timer = setTimeout(ask, ended ? 15000 : chart && chart.steps > 2000 ? 3000 : 1500);
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  document.body.addEventListener("run:changed", ask);
  document.addEventListener("run:choose", (event) => {
    const index = chart?.nodes.findIndex((node) => node.kind !== "layer" && node.positions[0] === event.detail);
    if (index >= 0 && index !== at) stand(index, false);
  });
  async function load() {
    try {
      const [first] = await Promise.all([fetch(root.dataset.graph).then((answer) => { if (!answer.ok) throw new Error(answer.status); return answer.json(); }), ask()]);
      chart = first;
      note.textContent = chart.grouped ? `${chart.steps.toLocaleString()} steps, layers as one node each: open one for its steps` : `${chart.steps.toLocaleString()} steps`;
      box = canvas.getBoundingClientRect();
      if (box.width) { fitted = true; begin(); }
      const chosen = new URLSearchParams(location.search).get("step");
      if (chosen !== null) document.dispatchEvent(new CustomEvent("run:choose", { detail: Number(chosen) }));
      root.dataset.ready = "";
    } catch { note.textContent = "The graph cannot be loaded. The tab Steps lists the same."; }
  }
  load();
})();
