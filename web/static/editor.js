// The editor of definitions: numbers of lines, those with a problem marked, and a click on a problem goes to its line.
(() => {
  "use strict";
  const area = document.querySelector("[data-editor-text]"), gutter = document.querySelector("[data-gutter]");
  if (!area) return;
  const faulty = () => new Set([...document.querySelectorAll("#check [data-line]")].map((one) => Number(one.dataset.line)));
  let drawn = 0;

  function number() {
    const lines = area.value.split("\n").length;
    while (drawn > lines) { gutter.lastChild.remove(); drawn -= 1; }
    while (drawn < lines) { gutter.append(Object.assign(document.createElement("div"), { textContent: ++drawn })); }
    gutter.scrollTop = area.scrollTop;
  }
  function mark() {
    const wrong = faulty();
    [...gutter.children].forEach((line, at) => line.classList.toggle("wrong", wrong.has(at + 1)));
  }
  function go(line) {
    const lines = area.value.split("\n"), start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1] || "").length);
    area.scrollTop = (line - 6) * parseFloat(getComputedStyle(area).lineHeight);
  }
  area.addEventListener("input", () => { number(); });
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); area.form.requestSubmit(); return; }
    // A new line begins where the one before it begins.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    const line = area.value.slice(0, area.selectionStart).split("\n").pop();
    const indent = /^ */.exec(line)[0];
    if (!indent) return;
    event.preventDefault();
    area.setRangeText(`\n${indent}`, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.addEventListener("click", (event) => {
    const line = event.target.closest("#check [data-line]");
    if (line) go(Number(line.dataset.line));
  });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "check") mark(); });
  // What was typed is not lost by a stray click.
  const before = area.defaultValue;
  let sent = false;
  area.form.addEventListener("submit", () => { sent = true; });
  window.addEventListener("beforeunload", (event) => { if (!sent && area.value !== before) event.preventDefault(); });
  number();
  mark();
})();
