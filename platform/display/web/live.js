// The page of a run that goes on: it loads itself again, and keeps what the reader has chosen, opened and scrolled to.
"use strict";
(() => {
  const box = document.getElementById("live"), time = box.querySelector("time");
  const written = Date.parse(time.dateTime), age = (Date.now() - written) / 1000;
  time.textContent = new Date(written).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const name = `ticlm ${location.pathname}`;
  const details = () => [...document.querySelectorAll("details")];
  const selects = () => [...document.querySelectorAll("select[id]")];
  const pressed = () => [...document.querySelectorAll(".switch button[aria-pressed=true]")];

  /** Take up what the page before this one was left with. */
  function restore() {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? "null");
    sessionStorage.removeItem(name);
    if (!kept) return;
    if (kept.theme && kept.theme !== document.documentElement.dataset.theme) document.getElementById("theme")?.click();
    for (const [id, value] of kept.selects) {
      const select = document.getElementById(id);
      if (!select || select.value === value || ![...select.options].some((option) => option.value === value)) continue;
      select.value = value;
      select.dispatchEvent(new Event("change"));
    }
    for (const [id, text] of kept.pressed) [...document.querySelectorAll(`[id="${id}"] button[aria-pressed=false]`)].find((button) => button.textContent === text)?.click();
    if (kept.details.length === details().length) details().forEach((one, i) => (one.open = kept.details[i]));
    scrollTo(0, kept.scroll);
  }

  function keep() {
    sessionStorage.setItem(name, JSON.stringify({
      theme: document.documentElement.dataset.theme,
      selects: selects().map((one) => [one.id, one.value]),
      pressed: pressed().map((one) => [one.parentElement.id, one.textContent]),
      details: details().map((one) => one.open),
      scroll: scrollY,
    }));
  }

  function again() {
    const busy = document.hidden || document.querySelector("dialog[open]") || String(getSelection()) || document.activeElement?.tagName === "SELECT";
    if (busy) return setTimeout(again, 2000);
    try { keep(); } catch { /* without storage the page only loses what was chosen */ }
    location.reload();
  }

  try { restore(); } catch { /* as above */ }
  // Only a page that was just loaded knows whether its file is old: a machine that slept has an old page of a new file.
  if (age > Number(box.dataset.old)) {
    box.querySelector("strong").textContent = "The run stopped, or stands still";
    box.lastChild.textContent = `, ${Math.round(age / 60)} minutes ago; since then nobody has renewed this page.`;
  } else {
    setTimeout(again, 1000 * Number(box.dataset.every));
  }
})();
