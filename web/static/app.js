// Times, themes, dialogs, lists that live. No part of it makes markup out of data: texts are set as text.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const ui = (window.ui = {});

  // Times in the reader's zone, the exact one on hover.
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

  ui.duration = (seconds) => {
    seconds = Math.max(0, seconds);
    if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
    const whole = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
    return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
  };
  const dated = (at) => {
    const now = new Date();
    if (at.toDateString() === now.toDateString()) return clock.format(at);
    if (Math.abs(now - at) < 300 * 86400e3) return `${day.format(at)}, ${minutes.format(at)}`;
    return year.format(at);
  };
  const ago = (at) => {
    const seconds = (Date.now() - at) / 1000;
    const [most, size, unit] = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [Infinity, 86400, "day"]]
      .find(([most]) => Math.abs(seconds) < most);
    return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(-Math.trunc(seconds / size), unit);
  };
  ui.moment = (iso) => dated(new Date(iso));
  const showTime = (element) => {
    const at = new Date(element.dateTime);
    if (isNaN(at)) return;
    const form = element.dataset.form;
    element.textContent = form === "ago" ? ago(at) : form === "date" ? `${year.format(at)}, ${clock.format(at)}` : dated(at);
    element.title = `${exact.format(at)}\n${element.dateTime}`;
  };
  // The server's clock is what counts: the page knows how far its own is from it.
  const skew = Date.now() - Number(document.documentElement.dataset.now || Date.now());
  const tick = (root = document) => {
    for (const element of all("[data-since]", root)) {
      element.textContent = ui.duration((Date.now() - skew - new Date(element.dataset.since)) / 1000);
    }
  };
  ui.show = (root) => { all("time[datetime]", root).forEach(showTime); tick(root); };
  setInterval(tick, 1000);
  setInterval(() => all('time[data-form="ago"]').forEach(showTime), 15000);

  // Theme: the system's, or the one chosen here.
  const THEMES = ["system", "light", "dark"];
  const theme = () => document.documentElement.dataset.theme || "system";
  const nameTheme = () => all("[data-theme-name]").forEach((element) => { element.textContent = theme(); });
  ui.switchTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    ui.store("theme", next === "system" ? null : next);
    nameTheme();
    document.dispatchEvent(new CustomEvent("ui:theme"));
  };
  ui.store = (key, value) => {
    try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* kept nowhere */ }
  };
  ui.stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

  // Dialogs: what is swapped into #dialog is shown; its form closes it, or a redirect leaves the page.
  const dialog = () => $("#dialog");
  ui.close = () => all("dialog[open]").forEach((element) => element.close());
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog() && dialog().childElementCount) {
      if (!dialog().open) dialog().showModal();
      const heading = $("#dialog-title", dialog());
      if (heading) dialog().setAttribute("aria-label", heading.textContent);
      $("[autofocus], [aria-invalid=true], textarea, input:not([type=hidden]), button", dialog())?.focus();
    }
  });

  // What was swapped in is shown in the same breath, before anything is painted.
  document.addEventListener("htmx:afterSwap", () => ui.show(document));
  document.addEventListener("htmx:oobAfterSwap", () => ui.show(document));
  document.addEventListener("htmx:load", (event) => ui.show(event.detail.elt));

  // Live parts: `data-live="5"` is asked for again each 5 seconds, not while the tab is hidden or the reader is
  // choosing text or has a menu open in it. What was selected or opened and where the reader was stay.
  const waiting = new WeakMap();
  const live = () => {
    if (document.hidden) return;
    const now = performance.now();
    for (const element of all("[data-live]")) {
      if (now < (waiting.get(element) ?? -1) || element.dataset.paused !== undefined) continue;
      if (!waiting.has(element)) { waiting.set(element, now + element.dataset.live * 1000); continue; }
      if (String(getSelection()) && element.contains(getSelection().anchorNode)) continue;
      waiting.set(element, now + element.dataset.live * 1000);
      window.htmx.trigger(element, "live");
    }
  };
  setInterval(live, 500);
  document.addEventListener("visibilitychange", live);
  const kept = new Map();
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (!target.id) return;
    const at = document.activeElement;
    kept.set(target.id, {
      chosen: new Set(all("input[data-row]:checked", target).map((box) => box.value)),
      row: $("tr.at", target)?.dataset.id,
      open: all("[data-keep-open][open]", target).map((part) => part.dataset.keepOpen),
      focus: target.contains(at) ? at.id || (at.matches("tr") ? "tr" : "") : "",
      scroll: all("[data-keep-scroll]", target).map((box) => [box.dataset.keepScroll, box.scrollTop, box.scrollLeft]),
    });
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const was = kept.get(event.detail.target.id), root = document.getElementById(event.detail.target.id);
    kept.delete(event.detail.target.id);
    if (!was || !root) return;
    all("input[data-row]", root).forEach((box) => { box.checked = was.chosen.has(box.value); });
    const row = was.row && $(`tr[data-id="${CSS.escape(was.row)}"]`, root);
    if (row) { row.classList.add("at"); if (was.focus === "tr") row.focus({ preventScroll: true }); }
    for (const key of was.open) $(`[data-keep-open="${CSS.escape(key)}"]`, root)?.setAttribute("open", "");
    if (was.focus && was.focus !== "tr") document.getElementById(was.focus)?.focus({ preventScroll: true });
    for (const [key, top, left] of was.scroll) {
      const box = $(`[data-keep-scroll="${CSS.escape(key)}"]`, root);
      if (box) { box.scrollTop = top; box.scrollLeft = left; }
    }
    document.dispatchEvent(new CustomEvent("ui:rows"));
  });

  // What fails is said, and goes away when it works again: at the bottom of the page, and of an act in its dialog.
  const stale = ui.stale = (text, link) => {
    const element = $("[data-stale]");
    element.replaceChildren(text || "", ...(link ? [" ", link] : []));
    element.hidden = !text;
  };
  ui.signedOut = () => {
    const link = document.createElement("a");
    link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in";
    stale("Your session has ended: what is here is as it was then.", link);
  };
  const fault = (text, link) => {
    $("[data-fault]", dialog())?.remove();
    const notice = document.createElement("div");
    notice.className = "notice s-failed";
    notice.dataset.fault = "";
    notice.setAttribute("role", "alert");
    notice.append(text, ...(link ? [" ", link] : []));
    ($(".dialog", dialog()) ?? dialog()).prepend(notice);
    notice.scrollIntoView({ block: "nearest" });
  };
  // The words of an answer that is a page of ours, or a part of one; as text.
  const said = (xhr) => {
    const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
    return [...page.querySelectorAll("#dialog-title, .notice")].map((part) => part.textContent.trim()).join(": ");
  };
  const acts = (element) => dialog().open && dialog().contains(element);
  const failed = ({ detail: { elt } }, text, sure) => {
    const again = elt.matches("[data-again]"); // a bulk goes on by itself
    if (again && !sure) setTimeout(() => elt.isConnected && window.htmx.trigger(elt, "again"), 3000);
    if (acts(elt)) fault(sure ? text : `${text} ${again ? "Trying again." : "Whether it was done is not known: look before you repeat it."}`);
    else stale(elt.dataset.live ? `${text} Trying again.` : text);
  };
  document.addEventListener("htmx:sendError", (event) => failed(event, "The server cannot be reached."));
  document.addEventListener("htmx:timeout", (event) => failed(event, "The server takes too long to answer."));
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, elt } = event.detail;
    if (xhr.status !== 401) return failed(event, said(xhr) || `The server could not answer (${xhr.status}).`, xhr.status < 500);
    if (!acts(elt)) return ui.signedOut();
    const link = document.createElement("a");
    Object.assign(link, { href: "/login", target: "_blank", rel: "noopener", textContent: "Sign in" });
    fault("Your session has ended, and nothing was done. Sign in in another tab, with the same token or name, and do it again here.", link);
  });
  document.addEventListener("htmx:afterOnLoad", (event) => { if (event.detail.xhr.status < 400) stale(""); });

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-dismiss], [data-theme-switch], [data-help], [data-close], [data-copy]");
    if (!target) return;
    if (target.matches("[data-dismiss]")) target.parentElement.remove();
    if (target.matches("[data-theme-switch]")) ui.switchTheme();
    if (target.matches("[data-help]")) $("#help").showModal();
    if (target.matches("[data-close]")) { event.preventDefault(); ui.close(); }
    if (target.matches("[data-copy]")) navigator.clipboard?.writeText(target.dataset.copy).then(() => {
      target.dataset.copied = "";
      setTimeout(() => delete target.dataset.copied, 1200);
    });
  });
  const menu = $("[data-menu]");
  menu?.addEventListener("click", () => {
    const open = document.body.classList.toggle("menu-open");
    menu.setAttribute("aria-expanded", String(open));
  });

  // JSON in a textarea is checked as it is typed.
  document.addEventListener("input", (event) => {
    if (!event.target.matches("textarea[data-json]")) return;
    let fault = "";
    try { if (event.target.value.trim()) JSON.parse(event.target.value); } catch (error) { fault = error.message; }
    event.target.setCustomValidity(fault && `This is not JSON: ${fault}`);
    event.target.setAttribute("aria-invalid", String(Boolean(fault)));
    event.target.title = fault;
  });

  nameTheme();
  ui.show(document);
})();
