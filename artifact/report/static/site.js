// Theme, menu, claims filter with deep links, search of long tables, focusable wide formulas. No library.
"use strict";
(() => {
  const root = document.documentElement;
  const each = (selector, f, from = document) => from.querySelectorAll(selector).forEach(f);

  // ---- theme: auto -> light -> dark, remembered where the browser allows it
  const theme = document.getElementById("theme");
  const names = ["auto", "light", "dark"];
  const show = (name) => {
    root.dataset.theme = name;
    theme.textContent = "Theme: " + name;
    document.dispatchEvent(new Event("themechange"));
  };
  theme.hidden = false;
  show(names.includes(root.dataset.theme) ? root.dataset.theme : "auto");
  theme.addEventListener("click", () => {
    const next = names[(names.indexOf(root.dataset.theme) + 1) % names.length];
    show(next);
    try { localStorage.setItem("fedsharp-theme", next); } catch (error) { /* file:// may forbid it */ }
  });

  // ---- on narrow screens the menu starts closed
  if (window.matchMedia("(max-width: 52rem)").matches) each(".menu", (menu) => { menu.open = false; });

  // ---- search of the whole report, from the head of every page; its index is loaded when the field is first used
  const find = document.querySelector(".find input"), hits = document.getElementById("hits");
  if (find && hits) {
    let index = null, wanted = false;
    const lower = (words) => words.toLowerCase().replaceAll("-", "");
    const close = () => { hits.hidden = true; find.setAttribute("aria-expanded", "false"); };
    const list = () => {
      const words = lower(find.value).split(/\s+/).filter(Boolean);
      if (!index || !words.length) { close(); return; }
      const scored = [];
      for (const [title, link, kind, more] of index) {
        const name = lower(title), whole = lower(title + " " + kind + " " + more);
        if (words.every((word) => whole.includes(word))) {
          const place = name.indexOf(words[0]);
          scored.push([(place === 0 ? 0 : place > 0 ? 1 : 2) + (kind.startsWith("claim") ? .5 : 0), title, link, kind]);
        }
      }
      scored.sort((a, b) => a[0] - b[0]);
      hits.replaceChildren(...scored.slice(0, 8).map(([, title, link, kind]) => {
        const item = document.createElement("li"), a = document.createElement("a"), where = document.createElement("span");
        a.href = link;
        a.textContent = title;
        where.className = "where";
        where.textContent = kind;
        a.append(where);
        item.append(a);
        return item;
      }));
      if (!scored.length) hits.innerHTML = "<li>Nothing has these words.</li>";
      hits.hidden = false;
      find.setAttribute("aria-expanded", "true");
    };
    const load = () => {
      if (wanted) return;
      wanted = true;
      const script = document.createElement("script");
      script.src = "static/index.js";
      script.addEventListener("load", () => { index = window.fedsharpIndex; list(); });
      document.head.append(script);
    };
    find.addEventListener("focus", load);
    find.addEventListener("input", () => { load(); list(); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); find.focus(); }
      if (!hits.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        const links = [find, ...hits.querySelectorAll("a")], at = links.indexOf(document.activeElement);
        const next = links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length];
        if (at >= 0) { event.preventDefault(); next.focus(); }
      }
    });
    document.addEventListener("click", (event) => { if (!event.target.closest(".find")) close(); });
  }

  // ---- the anchor of a link may lie in a closed part
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (target && target.tagName === "DETAILS") target.open = true;
    if (target && target.dataset.moved) location.replace(target.dataset.moved);
    else if (target) target.scrollIntoView();
  };

  // ---- claims list
  const form = document.querySelector("main form.filter[role=search]");
  const list = document.getElementById("list");
  if (form && list) {
    const items = [...list.querySelector("template").content.children], more = document.getElementById("more"), found = document.getElementById("found");
    const plain = (text) => text.toLowerCase().replaceAll("-", ""); // layer-wise is layerwise
    const texts = items.map((item) => plain(item.textContent + " " + (item.dataset.words || "")));
    const has = (text, word) => text.includes(word) || (word.length > 3 && word.endsWith("s") && text.includes(word.slice(0, -1)));
    const fields = [...form.elements].filter((field) => field.name);
    const limit = Number(list.dataset.first || 40);
    let count = limit, unknown = [];
    const apply = (write) => {
      const wanted = Object.fromEntries(fields.map((field) => [field.name, field.value.trim()]));
      const words = plain(wanted.q || "").split(/\s+/).filter(Boolean);
      const target = decodeURIComponent(location.hash.slice(1));
      let hits = 0, own = 0;
      const shown = items.filter((item, i) => {
        const hit = words.every((word) => has(texts[i], word)) &&
          fields.every((field) => field.name === "q" || !wanted[field.name] || wanted[field.name].split(" or ").includes(item.dataset[field.name]));
        if (hit) hits += 1;
        if (hit && item.dataset.asked === "by a paper") own += 1;
        return (hit && hits <= count) || item.id === target;
      });
      list.replaceChildren(...shown);
      found.textContent = hits + (hits === 1 ? " entry" : " entries") + (own && own < hits ? ", " + own + " of them asked by a paper" : "") + (count < hits ? ", the first " + count + " shown" : "");
      if (unknown.length && !write) found.textContent += "; unknown and left out: " + unknown.join(", ");
      more.hidden = count >= hits;
      each("#elsewhere", (link) => {
        link.hidden = !wanted.q;
        link.search = "?q=" + encodeURIComponent(wanted.q);
        link.textContent = "Search the discrepancies for “" + wanted.q + "”";
      });
      if (write) {
        const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
        try { history.replaceState(null, "", location.pathname + (query ? "?" + query : "") + location.hash); } catch (error) { /* file:// */ }
      }
    };
    const read = () => {
      const query = new URLSearchParams(location.search);
      fields.forEach((field) => { field.value = query.get(field.name) || ""; });
      unknown = fields.filter((field) => field.selectedIndex === -1).map((field) => field.name + "=" + query.get(field.name));
      each("select", (field) => { if (field.selectedIndex === -1) field.value = ""; }, form);
      apply(false);
    };
    form.addEventListener("input", () => { count = limit; apply(true); });
    form.addEventListener("reset", () => setTimeout(() => { count = limit; apply(true); }));
    more.addEventListener("click", () => {
      const last = list.lastElementChild;
      count += limit;
      apply(false);
      const next = last && last.nextElementSibling && last.nextElementSibling.querySelector("a, summary");
      if (next) next.focus();
    });
    window.addEventListener("hashchange", () => apply(false));
    each("a[href^='?']", (link) => link.addEventListener("click", (event) => {
      event.preventDefault();
      try { history.pushState(null, "", link.href); } catch (error) { location.href = link.href; return; }
      read();
      document.getElementById("claims").scrollIntoView();
      form.querySelector(link.search.includes("in_training") ? "select[name=in_training]" : "select[name=on_paper]").focus({ preventScroll: true });
    }));
    window.addEventListener("popstate", read);
    read();
  }

  // ---- a method of a chart is highlighted: its name is pressed or its line clicked; pointing at a name shows it meanwhile
  const light = (chart, pointed) => {
    const buttons = [...chart.querySelectorAll("button[data-pick]")];
    const chosen = buttons.filter((button) => button.getAttribute("aria-pressed") === "true").map((button) => button.dataset.pick);
    const names = pointed ? [...chosen, pointed] : chosen;
    each("g[data-series]", (line) => {
      line.classList.toggle("on", names.includes(line.dataset.series));
      line.classList.toggle("dim", names.length > 0 && !names.includes(line.dataset.series));
    }, chart);
    each(".clear", (button) => { button.hidden = !chosen.length; }, chart);
  };
  const charted = (event, selector) => {
    const found = event.target.closest && event.target.closest(selector);
    return found && found.closest(".chart") ? found : null;
  };
  document.addEventListener("click", (event) => {
    const hit = charted(event, "button[data-pick], g[data-series], .clear");
    if (!hit) return;
    const chart = hit.closest(".chart"), name = hit.dataset.pick || hit.dataset.series;
    each("button[data-pick]", (button) => {
      const on = button.getAttribute("aria-pressed") === "true";
      if (!name || button.dataset.pick === name) button.setAttribute("aria-pressed", String(Boolean(name) && !on));
    }, chart);
    light(chart);
    each("svg.plot g[data-series].on", (line) => line.parentNode.append(line), chart); // in front of the others
  });
  document.addEventListener("pointerover", (event) => { const hit = charted(event, "button[data-pick]"); if (hit) light(hit.closest(".chart"), hit.dataset.pick); });
  document.addEventListener("pointerout", (event) => { const hit = charted(event, "button[data-pick]"); if (hit) light(hit.closest(".chart")); });

  // ---- filters work while one types: Enter in one of them loads no page
  each("form[data-stay]", (form) => form.addEventListener("submit", (event) => event.preventDefault()));

  // ---- the numbers of a table as CSV, where no file of its own holds them
  const stem = location.pathname.split("/").pop().replace(/\.html$/, "");
  each(".scroll:not([data-csv])", (box, i) => {
    const link = document.createElement("a");
    link.className = "csv";
    link.textContent = "CSV";
    link.setAttribute("aria-label", "CSV of " + (box.getAttribute("aria-label") || "this table"));
    link.download = stem + "-" + (i + 1) + ".csv";
    link.href = "#";
    link.addEventListener("click", () => {
      const text = (cell) => cell.textContent.trim().replace(/\s+/g, " ");
      const formula = (said) => /^[=+@-]./.test(said) && Number.isNaN(Number(said));  // to a spreadsheet
      const field = (cell) => '"' + (formula(text(cell)) ? "'" : "") + text(cell).replaceAll('"', '""') + '"';
      const lines = [...box.querySelectorAll("tr")].map((row) => [...row.cells].map(field).join(","));
      link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(lines.join("\n") + "\n");
    });
    box.after(link);
  });

  // ---- formulas that do not fit can be scrolled with the keyboard
  const wide = () => each(".wide, pre", (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex");
  });
  wide();
  window.addEventListener("resize", wide);
  document.addEventListener("toggle", wide, true);

  window.addEventListener("hashchange", reveal);
  reveal();
})();
