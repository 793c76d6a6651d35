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
    const half = t[Math.min(n - 2, t.length - 1)] * Math.sqrt(values.reduce((sum, v) => sum + (v - m) ** 2, 0) / (n - 1) / n);
    return { mean: m, low: m - half, high: m + half, n };
  };
  const ends = (i, show = signed) => show(i.mean) + (i.n > 1 ? " [" + show(i.low) + ", " + show(i.high) + "]" : "");
  // "10, 20, 51 to 60", and "2, 4, ..., 390" for five and more at one distance
  const ranges = (rounds) => {
    const found = [];
    for (let i = 0; i < rounds.length;) {
      const step = rounds[i + 1] - rounds[i];
      let last = i;
      while (last + 1 < rounds.length && rounds[last + 1] - rounds[last] === step) last += 1;
      if (step === 1) found.push(rounds[i] + " to " + rounds[last]);
      else if (last - i >= 4) found.push(rounds[i] + ", " + rounds[i + 1] + ", ..., " + rounds[last]);
      else { found.push(rounds[i]); last = i; }
      i = last + 1;
    }
    return found.join(", ");
  };
  const shared = (a, b) => Object.keys(a).filter((seed) => seed in b);
  const apart = (a, b) => interval(shared(a, b).map((seed) => a[seed] - b[seed]));
  const name = (s) => s.data + ", " + s.split + ", " + s.share;
  // tables of a setting: of some lines, those that show all of them
  const links = (s, of = []) => s.tables.filter(([href]) => of.every((line) => line.tables.includes(href))).map(([href, text]) => '<a href="' + href + '">' + escape(text) + "</a>").join("; ");
  // the forms of two methods that one table trained; else the usual ones
  const formsOf = (s, a, b) => {
    const forms = (label) => s.forms[label] || [label], learns = (label) => !s.collapsed.includes(label);
    const meet = ([x, y]) => x !== y && learns(x) && learns(y) && s.lines[x].tables.some((one) => s.lines[y].tables.includes(one));
    return forms(a).flatMap((x) => forms(b).map((y) => [x, y])).find(meet) || [a, b];
  };
  const table = (label, head, rows) => '<div class="scroll" tabindex="0" role="region" aria-label="' + escape(label) + '"><table><thead><tr>' +
    head.map((h) => '<th scope="col">' + h + "</th>").join("") + "</tr></thead><tbody>" +
    rows.map((row) => "<tr>" + row.map((cell, i) => i ? "<td>" + cell + "</td>" : '<th scope="row">' + cell + "</th>").join("") + "</tr>").join("") +
    "</tbody></table></div>";

  // ---- charts: lines with their names at the right end, and differences with intervals
  const W = 620, H = 320, L = 48, R = 470, T = 16, B = 280;
  const ticks = (low, high) => {
    const raw = (high - low) / 6 || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9; v += step) found.push(Number(v.toPrecision(6)));
    return found;
  };
  const lines = (said, series, axis, height = "test accuracy (%)", zero = false, budget = null) => {
    const xs = series.flatMap((s) => s.x), ys = series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])]).concat(zero ? 0 : []);
    const x1 = Math.max(...xs, budget), y0 = Math.min(...ys), y1 = Math.max(...ys);
    const X = (v) => L + (R - L) * v / (x1 || 1), Y = (v) => B - (B - T) * (v - y0) / ((y1 - y0) || 1);
    let body = ticks(0, x1).map((v) => '<line class="grid" x1="' + X(v) + '" x2="' + X(v) + '" y1="' + T + '" y2="' + B + '"/><text x="' + X(v) + '" y="' + (B + 15) + '" text-anchor="middle">' + v + "</text>").join("");
    body += ticks(y0, y1).map((v) => '<line class="grid" x1="' + L + '" x2="' + R + '" y1="' + Y(v) + '" y2="' + Y(v) + '"/><text x="' + (L - 5) + '" y="' + (Y(v) + 4) + '" text-anchor="end">' + v + "</text>").join("");
    body += '<text x="' + (L + R) / 2 + '" y="' + (B + 34) + '" text-anchor="middle">' + axis + '</text><text x="11" y="' + (T + B) / 2 + '" text-anchor="middle" transform="rotate(-90 11 ' + (T + B) / 2 + ')">' + height + "</text>";
    if (zero) body += '<line class="axis" x1="' + L + '" x2="' + R + '" y1="' + Y(0) + '" y2="' + Y(0) + '"/>';
    if (budget !== null) body += '<line class="axis budget" stroke-dasharray="4 3" x1="' + X(budget) + '" x2="' + X(budget) + '" y1="' + T + '" y2="' + B + '"/><text x="' + X(budget) + '" y="' + (T - 2) + '" text-anchor="end">budget ' + budget + "</text>";
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
    const width = Math.max(W, R + 40 + 7 * Math.max(...series.map((s) => (s.name || s.label).length + 5))); // what the longest name needs
    return '<figure class="chart">' + buttons + '<svg class="plot one" viewBox="0 0 ' + width + " " + H + '" role="img" aria-label="' + escape(said) + '">' + body + "</svg></figure>";
  };
  const NOTE = '<p class="where">The number at a line is that of the table above, a mean over several evaluations; the line goes to the last one alone.</p>';
  const curve = (line, label, over, end = mean(Object.values(line.ends)), upto = Infinity) => {
    const shown = line.rounds.filter((r) => r <= upto);
    return {
      label,
      end,
      x: shown.map((r) => over === "rounds" ? r : r * line[over]),
      y: shown.map((_, i) => mean(Object.values(line.curves).map((values) => values[i]))),
    };
  };
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
      const y = 18 + 24 * k, kind = r.mixed ? "plain" : r.i.low > 0 ? "good" : r.i.high < 0 ? "bad" : "plain";
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
    // the form opens with the best evidence: the most seeds, then the most rounds, then the most methods
    const evidence = (s) => [Math.max(...Object.values(s.lines).map((line) => Object.keys(line.ends).length)), s.horizon, Object.keys(s.lines).length];
    const better = (a, b) => { const x = evidence(a), y = evidence(b), i = x.findIndex((v, k) => v !== y[k]); return i >= 0 && x[i] > y[i] ? a : b; };
    const widest = settings.reduce((a, b) => better(b, a)).data;
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
      field.fedavg.placeholder = "e.g. " + s.horizon + " rounds";
      field.fedavg.disabled = !s.lines.FedAvg;
      unit.textContent = "An empty field sets no limit. One pass is the gradient of every sample of a client once; one model is all weights sent once. " +
        "Evaluated rounds: " + ranges(s.lines[base].rounds) + ". " + s.horizon + " rounds of " + base + " cost " + cost("passes") + " passes and " + cost("models") + " models.";
      unit.hidden = false;
      const limit = (one, rate = 1) => one.disabled || one.value === "" ? Infinity : Number(one.value) * rate;
      const passes = limit(field.passes), models = Math.min(limit(field.models), limit(field.fedavg, s.lines[base].models));
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
      const plain = (v) => v.toFixed(1), whole = found.length === Object.keys(s.lines).length && found.every((f) => f.round === s.horizon);
      const counts = found.map((f) => f.apart ? f.apart.n : first.i.n), seeds = distinct([Math.min(...counts), Math.max(...counts)]).join(" to ");
      answer.innerHTML = '<p class="lead"><strong>' + escape(first.label) + "</strong> is highest, " + ends(first.i, plain) + " %. " +
        (first.i.n < 2 ? "That is one seed: whether it differs from the others is not tested." : level.length ? "Our runs cannot tell it from " + escape(level.join(", ")) + "." : first.i.n > 1 ? "The paired difference to every other method excludes zero." : "") + "</p>" +
        "<p><strong>How sure:</strong> " + (first.i.n > 1 ? "n=" + seeds + " seeds, 95 % intervals paired by seed and not adjusted for " + (found.length - 1) + " comparisons; " : "n=1 seed, so that there is no interval and nothing is tested; ") +
        "curves: " + (!whole ? "not tested at this budget" : s.flat ? "flat" : "not flat, so that a longer run may change the order") + "." + " Runs: " + links(s) + ".</p>";
      ranking.innerHTML = table("Methods within the budget", ["method", "rounds paid for", "evaluated in rounds", "gradients a round", "models a round", "accuracy (%), 95 %", "n", "best minus it, 95 %", "n of both", "in words"], found.map((f) => [
        escape(f.label), f.round, ranges(f.used), f.line.passes, Number(f.line.models.toFixed(2)), ends(f.i, plain), f.i.n, f.apart ? ends(f.apart) : "", f.apart ? f.apart.n : "",
        f === first ? "highest" : first.i.n < 2 ? "not tested" : level.includes(f.label) ? "not told from the highest" : "lower",
      ]));
      const over = passes < Infinity ? "passes" : models < Infinity ? "models" : "rounds";
      const axis = { rounds: "round", passes: "gradients: passes over its data per active client", models: "traffic: models to and from an active client" }[over];
      const most = { passes, models, rounds: Infinity }[over], farthest = Math.max(...found.map((f) => s.horizon * f.line[over]));
      const drawn = found.map((f) => curve(f.line, f.label, over, f.i.mean, f.used[f.used.length - 1]));
      picture.innerHTML = lines("Accuracy against " + axis, drawn, axis, "test accuracy (%)", false, most < farthest ? most : null) + NOTE;
    };
    choose.addEventListener("input", () => { show(); remember(choose); });
    for (const key of ["passes", "models", "fedavg"]) field[key].value = asked.get(key) || "";
    choose.hidden = false;
    show();
  }

  // ---- any two methods
  const pair = document.getElementById("pair");
  if (pair) {
    const field = pair.elements, asked = new URLSearchParams(location.search);
    const show = () => {
      const a = field.a.value, b = field.b.value;
      const both = settings.filter((s) => s.lines[a] && s.lines[b] && shared(...formsOf(s, a, b).map((label) => s.lines[label].ends)).length);
      if (a === b || !both.length) {
        answer.innerHTML = "<p>" + (a === b ? "Choose two different methods." : "No setting has both.") + "</p>";
        ranking.innerHTML = picture.innerHTML = field.setting.innerHTML = "";
        return;
      }
      options(field.setting, both.map(name), field.setting.value || asked.get("setting"));
      const rows = both.map((s) => {
        const own = formsOf(s, a, b), [one, other] = own.map((label) => s.lines[label]);
        return { s, own, one, other, i: apart(one.ends, other.ends), fallen: own.filter((label) => s.collapsed.includes(label)) };
      });
      const why = (r) => r.fallen.length ? "left out: " + r.fallen.join(" and ") + (r.fallen.length > 1 ? " do" : " does") + " not learn" : r.i.n < 2 ? "left out: one seed" : "yes";
      const counted = rows.filter((r) => !r.fallen.length && r.i.n > 1);
      const over = (some) => interval(some.map((r) => r.i.mean)), enough = (i) => i.n >= fewest;
      const groups = distinct(counted.map((r) => r.s.group)).map((group) => ({ group, i: over(counted.filter((r) => r.s.group === group)) }));
      const told = (i) => (enough(i) ? ends(i) : signed(i.mean)) + " points</strong> (" + (enough(i) ? "95 %, " : "no interval, ") + "over " + i.n + " setting" + (i.n > 1 ? "s" : "") + ")";
      const pooled = counted.length ? over(counted) : null, below = counted.filter((r) => r.i.mean < 0).length;
      const mixed = groups.some((g) => g.i.mean < 0) && groups.some((g) => g.i.mean > 0);
      const star = pooled && enough(pooled) && !mixed && (pooled.low > 0 || pooled.high < 0);
      answer.innerHTML = '<p class="lead">' + escape(a) + " minus " + escape(b) + (pooled ? "" : ": no setting counts, and the table says why") + "</p>" +
        "<ul>" + groups.map((g) => "<li>" + escape(g.group) + ": <strong>" + told(g.i) + "</li>").join("") + "</ul>" +
        (pooled ? "<p>All settings pooled: <strong>" + told(pooled) + (star ? " *" : "") + "; negative in " + below + " of " + counted.length + ". " + (mixed ? "The means above differ in sign: the pooled number describes none of them and has no star. " : "") : "<p>") +
        '<a href="#assumptions">What that assumes</a>.</p>';
      ranking.innerHTML = table(a + " minus " + b, ["setting", escape(a) + " (%)", escape(b) + " (%)", "difference, 95 %", "n", "in the mean", "curves", "table"], rows.map((r) => [
        escape(name(r.s) + (r.own[0] !== a || r.own[1] !== b ? "; here " + r.own.join(" minus ") : "")),
        mean(Object.values(r.one.ends)).toFixed(1), mean(Object.values(r.other.ends)).toFixed(1),
        ends(r.i), r.i.n, escape(why(r)), r.s.flat ? "flat" : "not flat", links(r.s, [r.one, r.other]) || links(r.s),
      ]));
      const drawn = distinct(rows.map((r) => r.s.group)).flatMap((group) => [
        ...rows.filter((r) => r.s.group === group).map((r) => ({ label: r.s.data.split(" (")[0] + ", " + r.s.split + ", " + r.s.share.replace(" clients", "") + ", " + r.s.horizon + " r." + (why(r) === "yes" ? "" : " (left out)"), i: r.i })),
        ...groups.filter((g) => g.group === group && enough(g.i)).map((g) => ({ label: "mean: " + group, i: g.i, bold: true })),
      ]);
      if (pooled && enough(pooled) && groups.length > 1) drawn.push({ label: "mean of the settings", i: pooled, bold: true, mixed });
      const { s, one, other } = rows.find((r) => name(r.s) === field.setting.value), along = field.over.value;
      const axis = { rounds: "round", passes: "gradients: passes over its data per active client", models: "traffic: models to and from an active client" }[along];
      picture.innerHTML = forest("Differences of " + a + " and " + b, drawn) +
        "<p><strong>" + escape(name(s)) + "</strong></p>" + lines(a + " and " + b + " against " + axis, [curve(one, a, along), curve(other, b, along)], axis) +
        "<p>" + escape(a) + " minus " + escape(b) + " in the same round, paired by seed, with its 95 % interval:</p>" +
        lines(a + " minus " + b + " against round", [gap(a, b, one, other)], "round", "difference in points", true) + NOTE;
    };
    pair.addEventListener("input", () => { show(); remember(pair); });
    field.a.value = asked.get("a") || "FedSMOO";
    field.b.value = asked.get("b") || "FedDyn";
    if (asked.get("over")) field.over.value = asked.get("over");
    pair.hidden = false;
    show();
  }
})();
