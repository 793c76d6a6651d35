// Two pages from static/settings.js: a method for a budget, and any two methods over all settings. No library.
"use strict";
(() => {
  const { settings, looks, t, fewest } = window.fedsharp;
  const answer = document.getElementById("answer"), ranking = document.getElementById("ranking");
  const picture = document.getElementById("picture");
  const LAST = 10; // evaluations whose mean is the tables' accuracy
  const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const signed = (value, digits = 2) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);

  // mean and 95 % t interval; no interval for one value
  const interval = (values) => {
    const m = mean(values), n = values.length;
    if (n < 2) return { mean: m, low: NaN, high: NaN, n };
    const half = t[n - 2] * Math.sqrt(values.reduce((sum, v) => sum + (v - m) ** 2, 0) / (n - 1) / n);
    return { mean: m, low: m - half, high: m + half, n };
  };
  const ends = (i, show = signed) => show(i.mean) + (i.n > 1 ? " [" + show(i.low) + ", " + show(i.high) + "]" : "");
  // "10, 20, 51 to 60"
  const ranges = (rounds) => rounds.reduce((found, r) => {
    const last = found[found.length - 1];
    if (last && last[1] === r - 1) last[1] = r; else found.push([r, r]);
    return found;
  }, []).map(([a, b]) => a === b ? a : a + " to " + b).join(", ");
  const shared = (a, b) => Object.keys(a).filter((seed) => seed in b);
  const apart = (a, b) => interval(shared(a, b).map((seed) => a[seed] - b[seed]));
  const name = (s) => s.data + ", " + s.split + ", " + s.share;
  // tables of a setting: of some lines, those that show all of them
  const links = (s, of = []) => s.tables.filter(([href]) => of.every((line) => line.tables.includes(href))).map(([href, text]) => '<a href="' + href + '">' + escape(text) + "</a>").join("; ");
  const table = (label, head, rows) => '<div class="scroll" tabindex="0" role="region" aria-label="' + escape(label) + '"><table><thead><tr>' +
    head.map((h) => '<th scope="col">' + h + "</th>").join("") + "</tr></thead><tbody>" +
    rows.map((row) => "<tr>" + row.map((cell, i) => i ? "<td>" + cell + "</td>" : '<th scope="row">' + cell + "</th>").join("") + "</tr>").join("") +
    "</tbody></table></div>";

  // ---- charts: lines with their names at the right end, and differences with intervals
  const W = 620, H = 320, L = 48, R = 470, T = 10, B = 280;
  const ticks = (low, high) => {
    const raw = (high - low) / 6 || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9; v += step) found.push(Number(v.toPrecision(6)));
    return found;
  };
  const lines = (said, series, axis, height = "test accuracy (%)", zero = false) => {
    const xs = series.flatMap((s) => s.x), ys = series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])]).concat(zero ? 0 : []);
    const x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
    const X = (v) => L + (R - L) * v / (x1 || 1), Y = (v) => B - (B - T) * (v - y0) / ((y1 - y0) || 1);
    let body = ticks(0, x1).map((v) => '<line class="grid" x1="' + X(v) + '" x2="' + X(v) + '" y1="' + T + '" y2="' + B + '"/><text x="' + X(v) + '" y="' + (B + 15) + '" text-anchor="middle">' + v + "</text>").join("");
    body += ticks(y0, y1).map((v) => '<line class="grid" x1="' + L + '" x2="' + R + '" y1="' + Y(v) + '" y2="' + Y(v) + '"/><text x="' + (L - 5) + '" y="' + (Y(v) + 4) + '" text-anchor="end">' + v + "</text>").join("");
    body += '<text x="' + (L + R) / 2 + '" y="' + (B + 34) + '" text-anchor="middle">' + axis + '</text><text x="11" y="' + (T + B) / 2 + '" text-anchor="middle" transform="rotate(-90 11 ' + (T + B) / 2 + ')">' + height + "</text>";
    if (zero) body += '<line class="axis" x1="' + L + '" x2="' + R + '" y1="' + Y(0) + '" y2="' + Y(0) + '"/>';
    const order = [...series].sort((a, b) => b.y[b.y.length - 1] - a.y[a.y.length - 1]);
    const places = order.map((s) => Y(s.y[s.y.length - 1])); // of the names, 14 apart and within the picture
    places.forEach((_, i) => { if (i) places[i] = Math.max(places[i], places[i - 1] + 14); });
    for (let i = places.length - 1, below = B + 6; i >= 0; i -= 1, below -= 14) places[i] = Math.min(places[i], below);
    order.forEach((s, k) => {
      const look = looks[s.label], last = s.y.length - 1, at = places[k].toFixed(1);
      const mark = (x, y) => '<path class="marker' + (look.open ? " open" : "") + '" d="' + look.mark + '" transform="translate(' + x + " " + y + ')"/>';
      const marked = s.x.map((_, i) => i).filter((i) => i === last || i % Math.ceil(s.x.length / 8) === 0);
      const band = s.low ? '<path class="band" d="M' + [...s.x.map((v, i) => [v, s.high[i]]), ...s.x.map((v, i) => [v, s.low[i]]).reverse()].map(([x, y]) => X(x).toFixed(1) + " " + Y(y).toFixed(1)).join("L") + 'Z"/>' : "";
      body += '<g data-series="' + escape(s.label) + '" style="--key:' + look.colour + '">' + band + '<path class="line" stroke-dasharray="' + look.dash + '" d="M' + s.x.map((v, i) => X(v).toFixed(1) + " " + Y(s.y[i]).toFixed(1)).join("L") + '"/>' +
        marked.map((i) => mark(X(s.x[i]).toFixed(1), Y(s.y[i]).toFixed(1))).join("") +
        '<path class="line" stroke-dasharray="' + look.dash + '" d="M' + (R + 8) + " " + at + "H" + (R + 32) + '"/>' + mark(R + 20, at) + '<text x="' + (R + 36) + '" y="' + (Number(at) + 4) + '">' + escape(s.name || s.label) + " " + (s.end ?? s.y[last]).toFixed(1) + "</text></g>";
    });
    const buttons = series.length < 3 ? "" : '<fieldset class="switches"><legend>Highlight</legend>' +
      order.map((s) => '<button type="button" aria-pressed="false" data-pick="' + escape(s.label) + '">' + escape(s.label) + "</button>").join("") + '<button type="button" class="clear" hidden>clear</button></fieldset>';
    return '<figure class="chart">' + buttons + '<svg class="plot one" viewBox="0 0 ' + W + " " + H + '" role="img" aria-label="' + escape(said) + '">' + body + "</svg></figure>";
  };
  const NOTE = '<p class="where">The number at a line is that of the table above, a mean over several evaluations; the line goes to the last one alone.</p>';
  const curve = (line, label, over, end = mean(Object.values(line.ends))) => ({
    label,
    end,
    x: line.rounds.map((r) => over === "rounds" ? r : r * line[over]),
    y: line.rounds.map((_, i) => mean(Object.values(line.curves).map((values) => values[i]))),
  });
  // a minus b in every round, with the 95 % interval over the seeds that both have
  const gap = (a, b, one, other) => {
    const seeds = shared(one.curves, other.curves), at = one.rounds.filter((r) => other.rounds.includes(r));
    const found = at.map((r) => interval(seeds.map((seed) => one.curves[seed][one.rounds.indexOf(r)] - other.curves[seed][other.rounds.indexOf(r)])));
    const band = seeds.length > 1 ? { low: found.map((i) => i.low), high: found.map((i) => i.high) } : {};
    return { label: a, name: "minus " + b, end: apart(one.ends, other.ends).mean, x: at, y: found.map((i) => i.mean), ...band };
  };
  const forest = (said, rows) => {
    const all = rows.flatMap((r) => r.i.n > 1 ? [r.i.low, r.i.high] : [r.i.mean]).concat(0);
    const low = Math.min(...all), high = Math.max(...all), X = (v) => 300 + 300 * (v - low) / ((high - low) || 1);
    const height = 24 * rows.length + 44;
    let body = '<line class="axis" x1="' + X(0) + '" x2="' + X(0) + '" y1="4" y2="' + (height - 36) + '"/>';
    rows.forEach((r, k) => {
      const y = 18 + 24 * k, kind = r.i.low > 0 ? "good" : r.i.high < 0 ? "bad" : "plain";
      body += '<text x="290" y="' + (y + 4) + '" text-anchor="end"' + (r.bold ? ' font-weight="700"' : "") + ">" + escape(r.label) + "</text>";
      if (r.i.n > 1) body += '<line class="interval ' + kind + '" x1="' + X(r.i.low) + '" x2="' + X(r.i.high) + '" y1="' + y + '" y2="' + y + '"/>';
      body += r.bold ? '<path class="' + kind + '" d="M' + (X(r.i.mean) - 6) + " " + y + "l6 -6l6 6l-6 6Z" + '"/>' : '<circle class="' + kind + '" cx="' + X(r.i.mean) + '" cy="' + y + '" r="4"/>';
    });
    body += ticks(low, high).map((v) => '<text x="' + X(v) + '" y="' + (height - 20) + '" text-anchor="middle">' + v + "</text>").join("");
    body += '<text x="450" y="' + (height - 4) + '" text-anchor="middle">difference in points, 95 %</text>';
    const more = Math.max(0, 7 * Math.max(...rows.map((r) => r.label.length)) - 290); // what the longest label needs
    return '<svg class="small one" viewBox="' + -more + " 0 " + (W + more) + " " + height + '" role="img" aria-label="' + escape(said) + '">' + body + "</svg>";
  };

  const options = (select, values, wanted) => {
    select.innerHTML = values.map((v) => "<option>" + escape(v) + "</option>").join("");
    if (values.includes(wanted)) select.value = wanted;
  };
  const distinct = (values) => [...new Set(values)];
  const remember = (form) => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
    try { history.replaceState(null, "", location.pathname + "?" + query + location.hash); } catch (error) { /* file:// */ }
  };

  // ---- a method for a budget
  const choose = document.getElementById("choose");
  if (choose) {
    const unit = document.getElementById("unit");
    const field = choose.elements, asked = new URLSearchParams(location.search);
    const splits = (data) => distinct(settings.filter((s) => s.data === data).map((s) => s.split)).length;
    const widest = distinct(settings.map((s) => s.data)).reduce((a, b) => splits(b) > splits(a) ? b : a);
    const narrow = () => {
      options(field.data, distinct(settings.map((s) => s.data)), field.data.value || asked.get("data") || widest);
      const ofData = settings.filter((s) => s.data === field.data.value);
      options(field.split, distinct(ofData.map((s) => s.split)), field.split.value || asked.get("split"));
      const ofSplit = ofData.filter((s) => s.split === field.split.value);
      options(field.share, distinct(ofSplit.map((s) => s.share)), field.share.value || asked.get("share"));
      return ofSplit.find((s) => s.share === field.share.value);
    };
    const show = () => {
      const s = narrow();
      const base = s.lines.FedAvg ? "FedAvg" : Object.keys(s.lines)[0];
      const cost = (rate) => Number((s.horizon * s.lines[base][rate]).toFixed(2));
      field.passes.placeholder = "e.g. " + cost("passes") + " passes";
      field.models.placeholder = "e.g. " + cost("models") + " models";
      unit.textContent = "An empty field sets no limit. One pass is the gradient of every sample of a client once; one model is all weights sent once. " +
        "Evaluated rounds: " + ranges(s.lines[base].rounds) + ". " + s.horizon + " rounds of " + base + " cost " + cost("passes") + " passes and " + cost("models") + " models.";
      unit.hidden = false;
      const passes = field.passes.value === "" ? Infinity : Number(field.passes.value);
      const models = field.models.value === "" ? Infinity : Number(field.models.value);
      const found = Object.entries(s.lines).map(([label, line]) => {
        const paid = line.rounds.map((r, i) => [r, i]).filter(([r]) => r * line.passes <= passes && r * line.models <= models);
        const span = line.rounds[line.rounds.length - 1] - line.rounds[Math.max(line.rounds.length - LAST, 0)];
        const last = paid.filter(([r]) => r >= paid[paid.length - 1][0] - span);
        const values = Object.fromEntries(Object.entries(line.curves).map(([seed, c]) => [seed, mean(last.map(([, i]) => c[i]))]));
        const round = Math.min(s.horizon, Math.floor(passes / line.passes + 1e-9), Math.floor(models / line.models + 1e-9));
        return { label, line, values, round, used: last.map(([r]) => r) };
      }).filter((f) => f.used.length);
      if (!found.length) {
        const least = (rate, unit) => {
          const [label, cost] = Object.entries(s.lines).map(([l, line]) => [l, line.rounds[0] * line[rate]]).sort((x, y) => x[1] - y[1])[0];
          return Number(cost.toFixed(2)) + " " + unit + " (" + escape(label) + ")";
        };
        answer.innerHTML = "<p>No method plays an evaluated round for that. The first evaluated round costs at least " + least("passes", "passes") + " and " + least("models", "models") + ".</p>";
        ranking.innerHTML = picture.innerHTML = "";
        return;
      }
      found.forEach((f) => { f.i = interval(Object.values(f.values)); });
      found.sort((a, b) => b.i.mean - a.i.mean);
      const first = found[0];
      found.forEach((f) => { f.apart = f === first ? null : apart(first.values, f.values); });
      const level = found.filter((f) => f.apart && !(f.apart.low > 0)).map((f) => f.label);
      const plain = (v) => v.toFixed(1);
      answer.innerHTML = '<p class="lead"><strong>' + escape(first.label) + "</strong> is highest, " + ends(first.i, plain) + " %. " +
        (first.i.n < 2 ? "That is one seed: whether it differs from the others is not tested." : level.length ? "Our runs cannot tell it from " + escape(level.join(", ")) + "." : first.i.n > 1 ? "It stands alone: every other interval lies below." : "") + "</p>" +
        "<p><strong>How sure:</strong> " + (first.i.n > 1 ? "n=" + first.i.n + " seeds, 95 % intervals paired by seed and not adjusted for " + (found.length - 1) + " comparisons; " : "n=1 seed, so that there is no interval and nothing is tested; ") +
        (s.flat && passes === Infinity && models === Infinity ? "the curves have ended level." : "the curves still move at this point, so a longer run may change the order.") + " Runs: " + links(s) + ".</p>";
      ranking.innerHTML = table("Methods within the budget", ["method", "rounds paid for", "evaluated in rounds", "gradients a round", "models a round", "accuracy (%), 95 %", "best minus it, 95 %", "in words"], found.map((f) => [
        escape(f.label), f.round, ranges(f.used), f.line.passes, Number(f.line.models.toFixed(2)), ends(f.i, plain), f.apart ? ends(f.apart) : "",
        f === first ? "highest" : first.i.n < 2 ? "not tested" : level.includes(f.label) ? "not told from the highest" : "lower",
      ]));
      const over = passes < Infinity ? "passes" : models < Infinity ? "models" : "rounds";
      const axis = { rounds: "round", passes: "gradients: passes over its data per active client", models: "traffic: models to and from an active client" }[over];
      picture.innerHTML = lines("Accuracy against " + axis, found.map((f) => curve(f.line, f.label, over, f.i.mean)), axis) + NOTE;
    };
    choose.addEventListener("input", () => { show(); remember(choose); });
    for (const key of ["passes", "models"]) field[key].value = asked.get(key) || "";
    choose.hidden = false;
    show();
  }

  // ---- any two methods
  const pair = document.getElementById("pair");
  if (pair) {
    const field = pair.elements, asked = new URLSearchParams(location.search);
    const show = () => {
      const a = field.a.value, b = field.b.value;
      const both = settings.filter((s) => s.lines[a] && s.lines[b] && shared(s.lines[a].ends, s.lines[b].ends).length);
      if (a === b || !both.length) {
        answer.innerHTML = "<p>" + (a === b ? "Choose two different methods." : "No setting has both.") + "</p>";
        ranking.innerHTML = picture.innerHTML = field.setting.innerHTML = "";
        return;
      }
      options(field.setting, both.map(name), field.setting.value || asked.get("setting"));
      const rows = both.map((s) => ({ s, i: apart(s.lines[a].ends, s.lines[b].ends) }));
      const counted = rows.filter((r) => r.i.n > 1);
      const pooled = counted.length ? interval(counted.map((r) => r.i.mean)) : null, enough = counted.length >= fewest;
      const below = counted.filter((r) => r.i.mean < 0).length;
      answer.innerHTML = '<p class="lead"><strong>' + escape(a) + " minus " + escape(b) + ": " + (pooled ? (enough ? ends(pooled) : signed(pooled.mean)) + " points</strong> (" + (enough ? "95 %, " : "no interval, ") + "over " + counted.length + " setting" + (counted.length > 1 ? "s" : "") + ")" : "</strong>one seed only, no interval") +
        "; negative in " + below + " of " + counted.length + '. <a href="#assumptions">What that assumes</a>.</p>';
      ranking.innerHTML = table(a + " minus " + b, ["setting", escape(a) + " (%)", escape(b) + " (%)", "difference, 95 %", "n", "curves", "table"], rows.map(({ s, i }) => [
        escape(name(s)), mean(Object.values(s.lines[a].ends)).toFixed(1), mean(Object.values(s.lines[b].ends)).toFixed(1),
        ends(i), i.n, s.flat ? "flat" : "not flat", links(s, [s.lines[a], s.lines[b]]) || links(s),
      ]));
      const s = both.find((one) => name(one) === field.setting.value), over = field.over.value;
      const drawn = rows.map((r) => ({ label: r.s.data.split(" (")[0] + ", " + r.s.split + ", " + r.s.share.replace(" clients", "") + ", " + r.s.horizon + " r.", i: r.i }));
      if (enough) drawn.push({ label: "mean of the settings", i: pooled, bold: true });
      const axis = { rounds: "round", passes: "gradients: passes over its data per active client", models: "traffic: models to and from an active client" }[over];
      picture.innerHTML = forest("Differences of " + a + " and " + b, drawn) +
        "<p><strong>" + escape(name(s)) + "</strong></p>" + lines(a + " and " + b + " against " + axis, [a, b].map((label) => curve(s.lines[label], label, over)), axis) +
        "<p>" + escape(a) + " minus " + escape(b) + " in the same round, paired by seed, with its 95 % interval:</p>" +
        lines(a + " minus " + b + " against round", [gap(a, b, s.lines[a], s.lines[b])], "round", "difference in points", true) + NOTE;
    };
    pair.addEventListener("input", () => { show(); remember(pair); });
    field.a.value = asked.get("a") || "FedSMOO";
    field.b.value = asked.get("b") || "FedDyn";
    if (asked.get("over")) field.over.value = asked.get("over");
    pair.hidden = false;
    show();
  }
})();
