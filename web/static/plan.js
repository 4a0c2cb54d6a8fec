// The graph of a definition: buttons, + - 0 and Ctrl with the wheel zoom it, dragging moves it. It may come later than the page.
(() => {
  "use strict";
  const least = 0.1, most = 3;
  function zoom(box, factor) {
    const svg = box.querySelector("svg"), [width, height] = [svg.dataset.width, svg.dataset.height].map(Number);
    const before = svg.clientWidth / width;
    const scale = factor ? Math.max(least, Math.min(before * factor, most)) : Math.min(box.clientWidth / width, box.clientHeight / height, 1);
    const [x, y] = [box.scrollLeft + box.clientWidth / 2, box.scrollTop + box.clientHeight / 2];
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    box.scrollLeft = (x * scale) / before - box.clientWidth / 2;
    box.scrollTop = (y * scale) / before - box.clientHeight / 2;
  }
  const boxOf = (element) => element.closest?.(".plan-graph");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-plan-zoom]");
    if (button) zoom(button.closest(".plan").querySelector(".plan-graph"), Number(button.dataset.planZoom));
  });
  document.addEventListener("keydown", (event) => {
    const factor = { "+": 1.3, "=": 1.3, "-": 1 / 1.3, 0: 0 }[event.key];
    if (factor === undefined || !boxOf(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    zoom(boxOf(event.target), factor);
  });
  document.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !boxOf(event.target)) return;
    event.preventDefault();
    zoom(boxOf(event.target), Math.exp(-event.deltaY * 0.0015));
  }, { passive: false });
  let held = null;
  document.addEventListener("pointerdown", (event) => {
    const box = event.pointerType === "mouse" && event.button === 0 && boxOf(event.target);
    if (box) held = { box, x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
  });
  document.addEventListener("pointermove", (event) => {
    if (!held) return;
    held.box.scrollLeft = held.x - event.clientX;
    held.box.scrollTop = held.y - event.clientY;
  });
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, () => { held = null; });
})();
