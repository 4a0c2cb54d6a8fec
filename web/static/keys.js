// Keyboard first: `/` searches, j and k go through rows, Enter opens, g and a letter goes to a place, ? tells the keys.
(() => {
  "use strict";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const rows = () => all("[data-rows] tbody tr[data-id]");
  let going = 0;

  const isTyping = (element) => element.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  const at = () => rows().findIndex((row) => row.classList.contains("at"));

  function stand(index) {
    const list = rows();
    if (!list.length) return;
    const row = list[Math.max(0, Math.min(index, list.length - 1))];
    list.forEach((other) => other.classList.toggle("at", other === row));
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
  function open(row, event) {
    const link = row.querySelector("a[data-open]") || row.querySelector("a");
    if (row.dataset.opens) return document.getElementById(row.dataset.opens)?.click();
    if (event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
    else link.click();
  }
  function choose() {
    const box = rows()[at()]?.querySelector("input[data-row]");
    if (box) { box.checked = !box.checked; box.dispatchEvent(new Event("change", { bubbles: true })); }
  }
  const acts = {
    "/": (event) => { const box = document.querySelector("[data-search]"); if (box) { event.preventDefault(); box.focus(); box.select(); } },
    "?": () => document.getElementById("help").showModal(),
    j: () => stand(at() + 1),
    k: () => stand(at() < 0 ? 0 : at() - 1),
    x: choose,
    t: () => window.ui.switchTheme(),
    g: () => { going = performance.now(); },
    Enter: (event) => { const row = rows()[at()]; if (row && (event.target === row || event.target === document.body)) open(row, event); },
    Escape: () => rows().forEach((row) => row.classList.remove("at")),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
    if (isTyping(event.target) || event.altKey || ((event.ctrlKey || event.metaKey) && event.key !== "Enter")) return;
    if (document.querySelector("dialog[open]")) return;
    if (going && performance.now() - going < 1500 && event.key !== "g") {
      going = 0;
      const place = document.querySelector(`.place[data-key="${CSS.escape(event.key)}"]`);
      if (place) { event.preventDefault(); place.click(); return; }
    }
    acts[event.key]?.(event);
  });
  // A click anywhere in a row opens it, unless it is on something else or marks text.
  document.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-href]");
    if (!row || event.target.closest("a, button, input, label, summary, details") || String(getSelection())) return;
    open(row, event);
  });
})();
