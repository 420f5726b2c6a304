// Everything works without this script. With it, the overview stays up to date, unless its visitor stops that.
"use strict";
(() => {
  const every = 5000;
  const toggle = document.querySelector("[data-live-toggle]");
  if (!toggle) return;
  toggle.hidden = false;

  const isLive = () => toggle.getAttribute("aria-pressed") === "true";
  toggle.addEventListener("click", () => {
    toggle.setAttribute("aria-pressed", String(!isLive()));
    if (isLive()) update();
  });

  // update takes over the parts of a new page that differ, and never one that holds the focus.
  const update = async () => {
    if (document.hidden || !isLive()) return;
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!answer || !answer.ok) {
      toggle.classList.add("stale");
      return;
    }
    toggle.classList.remove("stale");
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
