// Break a bound: FedLESAM and SAM on F(w) = w^2/2, beside the printed bound and the corrected one. No library.
"use strict";
(() => {
  const form = document.getElementById("break"), said = document.getElementById("said");
  const picture = document.getElementById("picture"), numbers = document.getElementById("numbers");
  const START = 2;
  // the printed right side: (10 gap) / (C sqrt T) + (180 rho^2) / (C T), C = 1/2 - 30/T
  const PRINTED = { gap: 10, radius: 180, half: 1 / 2, less: 30 };
  // the corrected right side, for the mean squared norm: (108/53) gap / sqrt T + (109/53) rho^2
  const CORRECTED = { gap: 108 / 53, radius: 109 / 53 };
  const gap = START ** 2 / 2;
  const printed = (T, rho) => {
    const C = PRINTED.half - PRINTED.less / T;
    return C > 0 ? PRINTED.gap * gap / (C * Math.sqrt(T)) + PRINTED.radius * rho ** 2 / (C * T) : Infinity;
  };
  const corrected = (T, rho) => Math.sqrt(CORRECTED.gap * gap / Math.sqrt(T) + CORRECTED.radius * rho ** 2);

  // mean |F'(w)| over rounds. The perturbed point p = w + rho * direction is kept as a number of its own: it shrinks by
  // the factor 1 - step as long as the direction stays, so that no rounding at the fixed point turns the direction.
  const lesam = (T, rho) => {
    const step = 1 / Math.sqrt(T);
    let w = START, direction = -1, p = w + rho * direction, norm = 0, square = 0;
    for (let t = 0; t <= T; t += 1) {
      if (t < T) square += w * w;
      const move = step * p, before = direction;
      w -= move;
      direction = Math.sign(move);
      p = direction === before ? p * (1 - step) : w + rho * direction;
      if (t) norm += Math.abs(w);
    }
    return { norm: norm / T, square: Math.sqrt(square / T) };
  };
  const sam = (T, rho) => {
    const step = 1 / Math.sqrt(T);
    let w = START, norm = 0;
    for (let t = 0; t <= T; t += 1) {
      w -= step * (w + rho * Math.sign(w));
      if (t) norm += Math.abs(w);
    }
    return norm / T;
  };

  const L = 52, TOP = 14, B = 300;
  const text = (x, y, words, anchor = "middle") => '<text x="' + x.toFixed(1) + '" y="' + y.toFixed(1) + '" text-anchor="' + anchor + '">' + words + "</text>";
  const superscript = (n) => [...String(n)].map((c) => c === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[Number(c)]).join("");
  const show = () => {
    const W = Math.min(640, Math.max(320, picture.clientWidth - 28)), R = W - 16, columns = W < 600 ? 2 : 4, H = B + 60 + 20 * (4 / columns - 1);
    const rho = Number((10 ** Number(form.elements.rho.value)).toPrecision(2)), T = Math.round(10 ** Number(form.elements.T.value));
    form.elements.rhoText.value = rho;
    form.elements.TText.value = T.toLocaleString("en");
    const rounds = [...Array(15).keys()].map((i) => Math.round(100 * (T / 100) ** (i / 14))).filter((r, i, all) => r !== all[i - 1]);
    if (rounds.length === 1) rounds.push(rounds[0] + 1);
    const runs = rounds.map((r) => lesam(r, rho));
    const lines = [
      ["FedLESAM, measured", rounds.map((r, i) => runs[i].norm), "#0072b2", "", "M-4 0L0 -4L4 0L0 4Z"],
      ["SAM, measured", rounds.map((r) => sam(r, rho)), "#009e73", "2 3", "M-3 -3H3V3H-3Z"],
      ["printed bound", rounds.map((r) => printed(r, rho)), "#d55e00", "7 4"],
      ["corrected bound", rounds.map((r) => corrected(r, rho)), "#595959", "12 3 2 3"],
    ];
    const values = lines.flatMap(([, y]) => y).filter((v) => Number.isFinite(v) && v > 0).map(Math.log10);
    const low = Math.floor(Math.min(...values)), high = Math.ceil(Math.max(...values));
    const X = (r) => L + (R - L) * Math.log10(r / 100) / Math.max(Math.log10(rounds[rounds.length - 1] / 100), 0.01);
    const Y = (v) => B - (B - TOP) * (Math.log10(v) - low) / (high - low);
    let body = "";
    for (let k = low; k <= high; k += 1) body += '<line class="grid" x1="' + L + '" x2="' + R + '" y1="' + Y(10 ** k) + '" y2="' + Y(10 ** k) + '"/>' + text(L - 6, Y(10 ** k) + 4, "10" + superscript(k), "end");
    for (let k = 2; 10 ** k <= rounds[rounds.length - 1]; k += 1) body += text(X(10 ** k), B + 16, "10" + superscript(k));
    body += text((L + R) / 2, B + 34, "rounds T");
    lines.forEach(([name, y, colour, dash, mark], i) => {
      const at = y.map((v, k) => [X(rounds[k]), v]).filter(([, v]) => Number.isFinite(v) && v > 0).map(([x, v]) => x.toFixed(1) + " " + Y(v).toFixed(1));
      const marks = !mark ? "" : at.filter((_, k) => k % 3 === 0).map((place) => '<path class="marker" d="' + mark + '" transform="translate(' + place + ')"/>').join("");
      body += '<g data-series="' + name + '" style="--key:' + colour + '"><path class="line" stroke-dasharray="' + dash + '" d="M' + at.join("L") + '"/>' + marks +
        '<path class="line" stroke-dasharray="' + dash + '" d="M' + (8 + (W / columns) * (i % columns)) + " " + (B + 52 + 20 * Math.floor(i / columns)) + "h22" + '"/>' + text(34 + (W / columns) * (i % columns), B + 56 + 20 * Math.floor(i / columns), name, "start") + "</g>";
    });
    const own = lesam(T, rho), allowed = printed(T, rho), held = own.norm <= allowed, digits = (v) => Number(v.toPrecision(3));
    said.innerHTML = "At ρ = " + rho + " and T = " + T.toLocaleString("en") + " the mean gradient norm is <strong>" + digits(own.norm) + "</strong>, the printed bound <strong>" + (Number.isFinite(allowed) ? digits(allowed) : "infinite") + "</strong>: the bound " + (held ? "holds." : "is <strong>broken</strong>.");
    said.dataset.held = held;
    picture.innerHTML = '<figure class="chart"><svg class="plot one" viewBox="0 0 ' + W + " " + H + '" role="img" aria-label="Mean gradient norm of FedLESAM and SAM against rounds, beside the printed and the corrected bound, radius ' + rho + '">' + body + "</svg></figure>";
    numbers.innerHTML = '<div class="scroll" data-csv tabindex="0" role="region" aria-label="Both sides"><table><thead><tr><th scope="col">quantity</th><th scope="col">measured</th><th scope="col">bound</th><th scope="col">verdict</th></tr></thead><tbody>' +
      '<tr><th scope="row">mean norm, printed theorem</th><td class="num">' + digits(own.norm) + '</td><td class="num">' + (Number.isFinite(allowed) ? digits(allowed) : "infinite") + "</td><td>" + (held ? "holds" : "broken") + "</td></tr>" +
      '<tr><th scope="row">root of the mean squared norm, corrected theorem</th><td class="num">' + digits(own.square) + '</td><td class="num">' + digits(corrected(T, rho)) + "</td><td>" + (own.square <= corrected(T, rho) ? "holds" : "broken") + "</td></tr></tbody></table></div>";
  };
  form.addEventListener("input", show);
  window.addEventListener("resize", show);
  form.hidden = false;
  show();
})();
