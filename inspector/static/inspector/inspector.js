/* Comfort only: every page works without this file. */
"use strict";

// A long <select> of Scopes or families that filters a list is sent when it changes.
for (const select of document.querySelectorAll("select[data-sends]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}
