// Selection, and views saved in this browser.
(() => {
  "use strict";
  const list = () => document.getElementById("runs-list");
  const boxes = () => [...list().querySelectorAll("input[data-row]")];

  function count() {
    const chosen = boxes().filter((box) => box.checked);
    boxes().forEach((box) => box.closest("tr").setAttribute("aria-selected", String(box.checked)));
    const told = list().querySelector("[data-chosen]");
    if (told) told.textContent = chosen.length ? `Acts on ${chosen.length} selected:` : "Acts on all that match the filters:";
    const whole = list().querySelector("[data-all-rows]");
    if (whole) {
      whole.checked = chosen.length > 0 && chosen.length === boxes().length;
      whole.indeterminate = chosen.length > 0 && chosen.length < boxes().length;
    }
  }
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-all-rows]")) boxes().forEach((box) => { box.checked = event.target.checked; });
    if (event.target.matches("[data-all-rows], [data-row]")) count();
  });
  document.addEventListener("ui:rows", count);

  // Saved views: a name and the query of the address, in this browser only.
  const menu = document.querySelector("[data-views]");
  const read = () => { try { return JSON.parse(window.ui.stored("runs.views")) || []; } catch { return []; } };
  function show() {
    const place = menu.querySelector("[data-views-list]");
    place.textContent = read().length ? "" : "No view is saved in this browser.";
    place.append(...read().map((view) => {
      const row = document.createElement("div"), link = document.createElement("a"), off = document.createElement("button");
      row.className = "view";
      link.textContent = view.name;
      link.href = `${location.pathname}?${new URLSearchParams(view.query)}`;
      off.className = "button plain icon-only";
      off.textContent = "×";
      off.setAttribute("aria-label", `Forget view ${view.name}`);
      off.addEventListener("click", () => { keep(read().filter((other) => other.name !== view.name)); });
      row.append(link, off);
      return row;
    }));
  }
  function keep(views) {
    window.ui.store("runs.views", JSON.stringify(views));
    show();
  }
  menu.querySelector("[data-views-form]").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = menu.querySelector("#view-name").value.trim();
    const query = new URL(menu.dataset.href, location).search;
    if (name) keep([...read().filter((other) => other.name !== name), { name, query }].slice(-30));
    event.target.reset();
  });
  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll("details.menu[open]")) if (!open.contains(event.target)) open.open = false;
  });
  show();
  count();
})();
