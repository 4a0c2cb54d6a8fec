// Before the first paint: the colours the reader has chosen here, else those of the system.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* a browser that keeps nothing */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
