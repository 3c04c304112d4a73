// Keeps the rows of "Which function for my data?" that need no more than what is ticked.
"use strict";
(() => {
  const boxes = [...document.querySelectorAll("#have input")];
  const rows = [...document.querySelectorAll("table.chooser tbody tr")];
  const kept = document.getElementById("kept");
  const kinds = ["preferences", "ratings", "counts"];
  const list = (row, name) => row.dataset[name].split("|").filter(Boolean);
  function show() {
    const ticked = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
    const someKind = kinds.some((k) => ticked.has(k));
    let shown = 0;
    for (const row of rows) {
      const kind = !someKind || list(row, "frames").some((f) => ticked.has(f));
      row.hidden = ticked.size > 0 && !(kind && list(row, "have").every((h) => ticked.has(h)));
      if (!row.hidden) shown += 1;
    }
    for (const table of document.querySelectorAll("table.chooser")) {
      const section = table.closest("section");
      if (section) section.hidden = [...table.tBodies[0].rows].every((r) => r.hidden);
    }
    kept.textContent = ticked.size ? `${shown} of ${rows.length} functions` : "";
  }
  boxes.forEach((b) => b.addEventListener("change", show));
  show();  // a browser may restore what was ticked
})();
