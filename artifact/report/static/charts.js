// Draws the charts of a page from the JSON beside them: curves, surfaces, heat maps, dots. Needs plotly.min.js.
"use strict";
(() => {
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  const font = { family: "system-ui, sans-serif", size: 12, color: "#1b1f24" };
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  const base = (panel, height) => ({
    title: { text: panel.title, font: { size: 13 }, x: 0.02, xanchor: "left" }, font, height,
    margin: { l: 52, r: 12, t: 34, b: 44 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff", showlegend: false,
    hoverlabel: { font: { size: 12 }, namelength: -1 }, transition: still ? { duration: 0 } : undefined,
  });
  const axis = (text, more) => Object.assign({ title: { text, standoff: 6 }, gridcolor: "#e3e6ea", zerolinecolor: "#c9d0d8", automargin: true }, more);

  // ---- curves: a band and a line per method
  const traces = (panel) => panel.lines.flatMap((line) => {
    const found = [];
    const single = line.low && line.x.length === 1;
    if (line.low && !single) {
      found.push({
        x: line.x.concat([...line.x].reverse()), y: line.high.concat([...line.low].reverse()), fill: "toself", mode: "none",
        fillcolor: line.colour + "22", hoverinfo: "skip", meta: line.label, type: "scatter",
      });
    }
    found.push({
      x: line.x, y: line.mean, mode: line.x.length > 12 ? "lines" : "lines+markers", name: line.label, meta: line.label,
      line: { color: line.colour, dash: line.dash, width: 2 }, type: "scatter",
      error_y: single ? { type: "data", symmetric: false, array: [line.high[0] - line.mean[0]], arrayminus: [line.mean[0] - line.low[0]], color: line.colour } : undefined,
      customdata: line.x.map((_, i) => line.low && line.low[i] !== null ? line.low[i].toFixed(2) + " to " + line.high[i].toFixed(2) : "one seed"),
      hovertemplate: "%{y:.2f} (%{customdata}, n=" + line.n + ")",
    });
    return found;
  });
  const range = (panels, hidden) => {
    const values = panels.flatMap((p) => p.lines.filter((l) => !hidden.has(l.label)).flatMap((l) => [l.low || l.mean, l.high || l.mean].flat()));
    const finite = values.filter((v) => v !== null && Number.isFinite(v));
    if (!finite.length) return undefined;
    const low = Math.min(...finite), high = Math.max(...finite), pad = 0.04 * (high - low || 1);
    return [low - pad * (panels.some((p) => p.marks) ? 4 : 1), high + pad];
  };
  const lines = (chart, figure, boxes) => {
    const hidden = new Set();
    const shared = figure.querySelector("[data-shared]");
    const update = () => boxes.forEach((box, i) => {
      if (!box.data) return;
      const y = range(shared && shared.checked ? chart.panels : [chart.panels[i]], hidden);
      Plotly.update(box, { visible: box.data.map((trace) => !hidden.has(trace.meta)) }, y ? { "yaxis.range": y, "yaxis.autorange": false } : {});
    });
    figure.querySelectorAll("[data-series]").forEach((input) => input.addEventListener("change", () => {
      if (input.checked) hidden.delete(input.dataset.series); else hidden.add(input.dataset.series);
      update();
    }));
    figure.querySelectorAll("[data-all]").forEach((button) => button.addEventListener("click", () => {
      figure.querySelectorAll("[data-series]").forEach((input) => {
        input.checked = button.dataset.all === "true";
        if (input.checked) hidden.delete(input.dataset.series); else hidden.add(input.dataset.series);
      });
      update();
    }));
    if (shared) shared.addEventListener("change", update);
    return boxes.map((box, i) => {
      const panel = chart.panels[i], marks = panel.marks || [];
      const dotted = marks.length ? [{ x: marks.map((m) => m.x), y: marks.map((m) => m.y), text: marks.map((m) => m.text), mode: "markers", marker: { color: "#000", size: 8 }, hovertemplate: "%{text}<extra></extra>", meta: "", type: "scatter", cliponaxis: false }] : [];
      return Plotly.newPlot(box, traces(panel).concat(dotted), Object.assign(base(panel, chart.height), {
        hovermode: "x unified", annotations: marks.map((m) => ({ x: m.x, y: m.y, text: m.text, showarrow: false, yshift: -16, font: { size: 11 }, bgcolor: "rgba(255,255,255,.85)" })), xaxis: axis(panel.x_label, { type: panel.log ? "log" : "linear" }), yaxis: axis(panel.y_label),
      }), config);
    }).concat([Promise.resolve().then(() => setTimeout(update))]);
  };

  // ---- surfaces, seen from above or in space, on one colour scale where asked for
  const surface = (chart, figure, boxes) => {
    const view = figure.querySelector("[data-view]"), shared = figure.querySelector("[data-shared]");
    const flat = (panel) => panel.z.flat().filter((v) => v !== null);
    const limits = (panel) => {
      const values = (shared && shared.checked ? chart.panels : [panel]).flatMap(flat);
      return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
    };
    const height = (panel, x, y) => {
      const at = (values, v) => values.reduce((best, u, i) => Math.abs(u - v) < Math.abs(values[best] - v) ? i : best, 0);
      return panel.z[at(panel.y, y)][at(panel.x, x)];
    };
    const hidden = () => new Set([...figure.querySelectorAll("[data-series]")].filter((input) => !input.checked).map((input) => input.dataset.series));
    const fitted = (box, found, layout) => Plotly.react(box, found, layout, config).then(() => Plotly.Plots.resize(box));
    const together = () => {
      const off = hidden(), on = chart.panels.filter((panel) => !off.has(panel.label));
      boxes.forEach((box, i) => { box.hidden = i > 0; });
      const found = on.map((panel) => ({ type: "surface", name: panel.label, x: panel.x, y: panel.y, z: panel.z, opacity: 0.6, showscale: false,
        colorscale: [[0, panel.colour], [1, panel.colour]], hovertemplate: panel.label + ", %{x:.3g}, %{y:.3g}: loss %{z:.4g}<extra></extra>" }));
      const [first] = chart.panels, layout = Object.assign(base({ title: on.map((panel) => panel.label).join(", ") || "none" }, 1.3 * chart.height), { margin: { l: 8, r: 8, t: 34, b: 8 } });
      layout.scene = { xaxis: { title: { text: first.x_label } }, yaxis: { title: { text: first.y_label } }, zaxis: { title: { text: "loss" } } };
      return [fitted(boxes[0], found, layout)];
    };
    const draw = () => view && view.value === "together" ? together() : boxes.map((box, i) => {
      const off = hidden(), panel = chart.panels[i], [low, high] = limits(panel), space = view && view.value === "surface";
      box.hidden = off.has(panel.label);
      if (box.hidden) return Promise.resolve();
      const found = [Object.assign({ x: panel.x, y: panel.y, z: panel.z, colorscale: "Greys", reversescale: true, colorbar: { thickness: 12, title: { text: "loss" } },
        hovertemplate: "%{x:.3g}, %{y:.3g}: loss %{z:.4g}<extra></extra>" },
      space ? { type: "surface", cmin: low, cmax: high } : { type: "contour", zmin: low, zmax: high, autocontour: false, contours: { start: low, end: high, size: (high - low) / 24 || 1 }, line: { width: 0.4 } })];
      (panel.paths || []).filter((path) => !off.has(path.label)).forEach((path) => {
        const mark = { name: path.label, mode: "lines+markers", line: { color: path.colour, width: space ? 5 : 2 },
          marker: { size: path.x.map((_, k) => k === path.x.length - 1 ? 8 : space ? 1 : 2), color: path.colour }, hovertemplate: path.text + "<extra></extra>" };
        found.push(Object.assign({ x: path.x, y: path.y }, mark, space
          ? { type: "scatter3d", z: path.x.map((x, k) => height(panel, x, path.y[k]) + 0.01 * (high - low)) } : { type: "scatter" }));
      });
      const layout = Object.assign(base(panel, chart.height), { margin: { l: 48, r: 8, t: 34, b: 44 } });
      if (space) layout.scene = { xaxis: { title: { text: panel.x_label } }, yaxis: { title: { text: panel.y_label } }, zaxis: { title: { text: "loss" }, range: [low, high] } };
      else Object.assign(layout, { xaxis: axis(panel.x_label), yaxis: axis(panel.y_label) });
      return fitted(box, found, layout);
    });
    [view, shared, ...figure.querySelectorAll("[data-series]")].forEach((control) => control && control.addEventListener("change", draw));
    figure.querySelectorAll("[data-all]").forEach((button) => button.addEventListener("click", () => {
      figure.querySelectorAll("[data-series]").forEach((input) => { input.checked = button.dataset.all === "true"; });
      draw();
    }));
    return draw();
  };

  // ---- heat maps
  const heatmap = (chart, figure, boxes) => {
    const shared = figure.querySelector("[data-shared]");
    const draw = () => boxes.map((box, i) => {
      const panel = chart.panels[i], over = shared && shared.checked ? chart.panels : [panel];
      const top = Math.max(...over.flatMap((p) => p.z.flat()));
      return Plotly.react(box, [{ type: "heatmap", z: panel.z, y: panel.y_names, colorscale: "Viridis", zmin: 0, zmax: top, colorbar: { thickness: 12 },
        hovertemplate: panel.x_label + " %{x}, " + panel.y_label + " %{y}: %{z}<extra></extra>" }],
      Object.assign(base(panel, chart.height), { xaxis: axis(panel.x_label), yaxis: axis(panel.y_label, { type: "category" }) }), config);
    });
    if (shared) shared.addEventListener("change", draw);
    return draw();
  };

  // ---- dots against a bound
  const dots = (chart, figure, boxes) => boxes.map((box, i) => {
    const panel = chart.panels[i];
    const drawn = Plotly.newPlot(box, [{ type: "scatter", mode: "markers", x: panel.points.map((p) => p.value), y: panel.points.map((p) => p.label),
      text: panel.points.map((p) => p.text), hovertemplate: "%{y}: %{x:.4g}<br>%{text}<extra></extra>",
      marker: { size: 8, color: panel.points.map((p) => p.colour), symbol: panel.points.map((p) => p.symbol) } }],
    Object.assign(base(panel, chart.height), { margin: { l: 8, r: 12, t: 34, b: 44 }, hovermode: "closest",
      xaxis: axis(panel.x_label, { rangemode: "tozero" }), yaxis: axis("", { type: "category", autorange: "reversed", tickfont: { size: 10 }, dtick: 1 }),
      shapes: [{ type: "line", x0: panel.bound, x1: panel.bound, y0: 0, y1: 1, yref: "paper", line: { color: "#1b1f24", dash: "dash", width: 1.5 } }] }), config);
    drawn.then(() => box.on("plotly_click", (event) => { location.href = panel.points[event.points[0].pointIndex].link; }));
    return drawn;
  });

  const kinds = { lines, surface, heatmap, dots };
  const start = (figure) => {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const drawn = kinds[chart.kind](chart, figure, [...figure.querySelectorAll(".plot")]);
    Promise.all(drawn).then(() => { figure.dataset.drawn = "true"; });
  };
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); start(entry.target); }
  }), { rootMargin: "600px" });
  document.querySelectorAll(".chart").forEach((figure) => seen.observe(figure));
  window.addEventListener("beforeprint", () => document.querySelectorAll(".chart:not([data-drawn])").forEach(start));
})();
