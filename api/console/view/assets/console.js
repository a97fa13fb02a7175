// Shortcuts, buttons that copy, and forms that are sent once. Every page works without this file.
"use strict";
(() => {
  const texts = document.body.dataset;

  // Each identifier gets a button that copies it.
  const addCopyButtons = (root) => {
    if (!navigator.clipboard) return;
    for (const code of root.querySelectorAll("code.id:not([data-ready])")) {
      code.dataset.ready = "";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy quiet";
      button.textContent = texts.copy;
      button.setAttribute("aria-label", texts.copy + " " + code.textContent);
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = texts.copied;
        setTimeout(() => { button.textContent = texts.copy; }, 2000);
      });
      code.after(button);
    }
  };
  addCopyButtons(document);
  document.addEventListener("htmx:after:swap", () => addCopyButtons(document));

  // A part of the page is marked while it is loaded. If it could not be loaded, it says so in its place.
  document.addEventListener("htmx:before:request", (event) => event.detail.ctx?.target?.setAttribute?.("aria-busy", "true"));
  document.addEventListener("htmx:finally:request", (event) => event.detail.ctx?.target?.removeAttribute?.("aria-busy"));
  document.addEventListener("htmx:error", (event) => {
    const target = event.detail.ctx?.target;
    if (!target) return;
    const link = Object.assign(document.createElement("a"), { href: "", textContent: texts.reload });
    const note = Object.assign(document.createElement("p"), { className: "note bad", role: "alert" });
    note.append(texts.offline + " ", link);
    target.replaceChildren(note);
  });

  // A form is sent once: a second press of its button while the answer is awaited does nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    for (const button of form.querySelectorAll("button[type=submit]")) button.setAttribute("aria-disabled", "true");
  });
  window.addEventListener("pageshow", () => { // the browser may show the page again as it was left
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("button[aria-disabled]")) button.removeAttribute("aria-disabled");
    }
  });

  // Shortcuts: / for the search, g and a letter for a page, ? for the list. None works while something is typed.
  const help = document.getElementById("keys");
  let afterG = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    const isSecond = event.timeStamp - afterG < 1500;
    afterG = -Infinity;
    if (isSecond) {
      const link = document.querySelector(`a[data-letter="${CSS.escape(event.key.toLowerCase())}"]`);
      if (link) {
        event.preventDefault();
        link.click();
      }
      return;
    }
    const search = document.getElementById("q");
    if (event.key === "g") afterG = event.timeStamp;
    else if (event.key === "?" && help) help.showModal();
    else if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
    }
  });
})();
