"use strict";
const all = (q, at) => [...(at || document).querySelectorAll(q)];
const save = (name, parts, type) => {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob(parts, { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
};
const shown = (cell) => {
  const copy = cell.cloneNode(true);
  all("svg, .method, .away, .meaning", copy).forEach((e) => e.remove());
  all("small, .interval, div", copy).forEach((e) => e.prepend(" "));
  return copy.textContent.replace(/\s+/g, " ").trim();
};
const value = (row, k) => {
  const c = row.cells[k];
  return c ? (c.dataset.v !== undefined ? c.dataset.v : shown(c)) : "";
};
const number = (text) => {
  const t = text.replace(/[\u202f\s%]/g, "").replace("\u2212", "-").replace(/^[<>\u2264]/, "");
  return /^[-+]?[\d.]+(e[-+]?\d+)?$/.test(t) ? Number(t) : NaN;
};
const order = (table, k, down) => {
  [...table.tBodies].forEach((body) => orderBody(body, k, down));
};
const orderBody = (body, k, down) => {
  const rows = [...body.rows].filter((r) => r.className !== "group");
  const keyed = rows.map((r, i) => [value(r, k), i, r]);
  const numeric = keyed.every(([v]) => v === "" || v === "\u2014" || v === "n/a" || !Number.isNaN(number(v)));
  keyed.sort(([a, i], [b, j]) => {
    if (!numeric) return (down ? -1 : 1) * a.localeCompare(b) || i - j;
    const [x, y] = [number(a), number(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || i - j;
    return (down ? y - x : x - y) || i - j;
  });
  keyed.forEach(([, , r]) => body.append(r));
};
all("table.sortable").forEach((table) => {
  all("thead th", table).forEach((th, k) => {
    const button = document.createElement("button");
    button.type = "button";
    const small = [...th.children].filter((e) => e.tagName === "SMALL");
    const head = document.createElement("span");
    head.className = "h";
    head.append(...[...th.childNodes].filter((e) => !small.includes(e)));
    button.append(head, ...small);
    th.append(button);
    button.onclick = () => {
      const down = th.getAttribute("aria-sort") !== "descending" && k > 0;
      all("thead th", table).forEach((o) => o.setAttribute("aria-sort", "none"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      order(table, k, down);
    };
  });
});
const cells = (table) => all("tr", table).filter((r) => !r.hidden).map((r) => {
  const row = [...r.cells].map(shown);
  return [...row, ...Array(Math.max(table.rows[0].cells.length - row.length, 0)).fill("")];
});
const markdown = (table) => {
  const rows = cells(table).map((r) => r.map((c) => c.replace(/[\\|`*_<\[\]]/g, "\\$&")));
  const [head, ...body] = rows;
  return [head, head.map(() => "---"), ...body].map((r) => `| ${r.join(" | ")} |`).join("\n");
};
const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u2212": "$-$", "\u0394": "$\\Delta$" };
const latex = (table) => {
  const safe = (t) => t.replace(/[\\~^\u2212\u0394]|[&%$#_{}]/g, (c) => LATEX[c] || `\\${c}`);
  const [head, ...body] = cells(table).map((r) => r.map(safe).map((c) => (/^[[*]/.test(c) ? `{${c[0]}}${c.slice(1)}` : c)).join(" & ") + " \\\\");
  const columns = "l".repeat(table.rows[0].cells.length);
  return ["\\begin{tabular}{" + columns + "}", "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}"].join("\n");
};
const copied = async (button, text) => {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.dataset.copied = text;
  button.textContent = "copied";
  setTimeout(() => (button.textContent = said), 1200);
};
all("table.sortable").forEach((table) => {
  const line = document.createElement("p");
  line.className = "copy";
  for (const [name, make] of [["Markdown", markdown], ["LaTeX", latex]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `copy as ${name}`;
    button.onclick = () => copied(button, make(table));
    line.append(button, " ");
  }
  table.parentElement.after(line);
});
const filter = document.getElementById("filter");
if (filter) {
  filter.oninput = () => {
    const wanted = filter.value.toLowerCase().trim();
    all(".compare tbody tr:not(.group)").forEach((r) => (r.hidden = !(r.cells[0].title || r.cells[0].textContent).toLowerCase().includes(wanted)));
    all("details.judge").forEach((d) => (d.hidden = !d.querySelector("summary").textContent.toLowerCase().includes(wanted)));
  };
}
all("button.svg").forEach((button) => {
  button.hidden = false;
  button.onclick = () => {
    const figure = button.closest("figure");
    const name = figure.querySelector("b").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    save(`${name}.svg`, [new XMLSerializer().serializeToString(figure.querySelector("svg"))], "image/svg+xml");
  };
});
const packed = document.getElementById("estimates");
const csv = document.getElementById("csv");
if (packed && csv && typeof DecompressionStream === "function") {
  csv.hidden = false;
  csv.onclick = async () => {
    const bytes = Uint8Array.from(atob(packed.content.textContent.trim()), (c) => c.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    csv.dataset.size = String(text.length);
    save(packed.dataset.name, [text], "text/csv");
  };
}
addEventListener("beforeprint", () => all("details.judge").forEach((d) => (d.open = true)));
