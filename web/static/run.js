// The page of a run: the drawer of a step, tabs by number, what follows from acts.
(() => {
  "use strict";
  const body = document.querySelector(".run-body"), drawer = document.getElementById("drawer");
  if (!body) return;
  const remember = (position) => {
    const address = new URL(location);
    position === null ? address.searchParams.delete("step") : address.searchParams.set("step", position);
    history.replaceState(history.state, "", address);
  };
  function open(position) {
    drawer.hidden = false;
    remember(position);
    document.dispatchEvent(new CustomEvent("run:choose", { detail: position }));
    window.htmx.ajax("GET", `${body.dataset.base}/step/${position}`, { target: drawer, swap: "innerHTML" });
  }
  function close() {
    drawer.hidden = true;
    drawer.replaceChildren();
    remember(null);
    document.querySelector(".graph-canvas")?.focus({ preventScroll: true });
  }
  document.addEventListener("run:step", (event) => open(event.detail));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-step]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(Number(link.dataset.step)); }
    if (event.target.closest("[data-drawer-close]")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !drawer.hidden) close();
    const tab = document.querySelector(`.tab[data-tab="${CSS.escape(event.key)}"]`);
    if (tab) tab.click();
  });
  // A step whose status has changed is read anew.
  document.addEventListener("run:states", (event) => {
    const shown = drawer.querySelector("article[data-status]");
    if (shown && !drawer.hidden && event.detail(Number(shown.dataset.position)) !== shown.dataset.status) open(Number(shown.dataset.position));
  });
  document.addEventListener("run:status", () => window.htmx.trigger(document.body, "run:changed"));
  // Logs stay at their end while the reader is there.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const box = event.detail.target.querySelector?.(".logs");
    if (box) event.detail.target.dataset.atEnd = String(box.scrollTop + box.clientHeight > box.scrollHeight - 30);
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const box of document.querySelectorAll(".logs")) {
      const holder = box.closest("[data-at-end]");
      if (!box.dataset.shown || holder?.dataset.atEnd === "true") box.scrollTop = box.scrollHeight;
      box.dataset.shown = "1";
    }
  });
})();
