// Everything works without this script. With it, a page of how things stand stays up to date, unless its visitor stops
// that.
"use strict";
(() => {
  const every = 5000;
  const toggle = document.querySelector("[data-live-toggle]");
  if (!toggle) return;
  const label = toggle.textContent;
  const here = new URL(location.pathname + location.search, location.origin); // without a login that the address has
  toggle.hidden = false;

  const isLive = () => toggle.getAttribute("aria-pressed") === "true";
  toggle.addEventListener("click", () => {
    toggle.setAttribute("aria-pressed", String(!isLive()));
    update();
  });

  const answered = (ok) => {
    toggle.classList.toggle("stale", !ok);
    toggle.textContent = ok ? label : "No answer";
  };

  // update takes over the parts of a new page that differ, and never one that holds the focus.
  const update = async () => {
    if (document.hidden || !isLive()) return;
    const answer = await fetch(here, { credentials: "same-origin" }).catch(() => null);
    answered(Boolean(answer && answer.ok));
    if (!answer || !answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = page.querySelector(`[data-live="${part.dataset.live}"]`);
      if (next && !part.contains(document.activeElement) && !part.isEqualNode(next)) {
        part.replaceChildren(...next.childNodes);
      }
    }
  };
  setInterval(update, every);
})();
