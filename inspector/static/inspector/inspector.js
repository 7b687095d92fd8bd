/* Comfort only: every page works without this file. */
"use strict";

// A long <select> of Scopes or families that filters a list is sent when it changes.
for (const select of document.querySelectorAll("select[data-sends]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Beside a digest; without this file a click selects all of it.
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", () =>
    navigator.clipboard.writeText(button.previousElementSibling.textContent),
  );
}
