// The mosaic, the panel of one code, and the tools above them. All text comes from the data block and is set as text.
(() => {
  const [height, width] = data.patch;
  const mosaic = $("mosaic");
  const tiles = []; // by code
  let order = data.orders[Object.keys(data.orders)[0]];
  let chosen = -1;
  let size = 0;

  function tile(candidate, pixels) {
    const element = make("span", "tile");
    show(element, candidate, data.sprite, height, width, Math.max(1, Math.round(pixels / Math.max(height, width))));
    return element;
  }

  function describe(code) {
    const parts = [`Code ${code}`];
    if (data.members) parts.push(`represents ${plural(data.members[code].length, "other candidate", "other candidates")}`);
    if (data.top && data.top[code].length) parts.push(`excited most by ${data.classes[data.top[code][0][0]]}`);
    return parts.join(", ");
  }

  // The mosaic

  /** Pixels per pixel and the gap between codes: as large as lets all be seen at once, in rows that fill the width. */
  function layout() {
    const space = mosaic.clientWidth;
    const wanted = Math.min(96, Math.max(24, Math.sqrt((space * (space < 480 ? 420 : 640)) / data.codes) - 5));
    const largest = Math.max(1, Math.floor(wanted / Math.max(height, width)));
    const least = Math.max(1, Math.ceil(24 / Math.max(height, width)), Math.floor(0.75 * largest));
    let best = { zoom: largest, gap: 5, left: Infinity };
    for (let zoom = largest; zoom >= least; zoom--) {
      const count = Math.floor((space + 4) / (zoom * width + 4));
      const gap = count > 1 ? Math.min(9, Math.floor((10 * (space - count * zoom * width)) / (count - 1)) / 10) : 5;
      const left = space - count * zoom * width - (count - 1) * gap;
      if (left < best.left - 2) best = { zoom, gap, left };
    }
    return best;
  }

  function build() {
    const some = document.createDocumentFragment();
    for (let code = 0; code < data.codes; code++) {
      const element = make("div", "tile code");
      element.id = `code-${code}`;
      element.dataset.code = code;
      element.tabIndex = -1;
      element.setAttribute("role", "option");
      element.setAttribute("aria-selected", "false");
      element.setAttribute("aria-label", describe(code));
      tiles.push(element);
    }
    for (const code of order) some.append(tiles[code]);
    mosaic.append(some);
    resize();
  }

  function resize() {
    const { zoom, gap } = layout();
    mosaic.style.setProperty("--gap-between", `${gap}px`);
    if (zoom === size) return;
    size = zoom;
    mosaic.style.setProperty("--tile", `${zoom * width}px`);
    tiles.forEach((element, code) => show(element, data.index[code], data.sprite, height, width, zoom));
  }

  function arrange(name) {
    order = data.orders[name];
    const some = document.createDocumentFragment();
    for (const code of order) some.append(tiles[code]);
    mosaic.append(some);
  }

  /** How many codes stand in a row of the mosaic, as it is laid out now. */
  function columns() {
    const top = tiles[order[0]].offsetTop;
    const next = order.findIndex((code) => tiles[code].offsetTop > top);
    return next < 0 ? order.length : next;
  }

  function choose(code, focus) {
    if (chosen >= 0) {
      tiles[chosen].setAttribute("aria-selected", "false");
      tiles[chosen].tabIndex = -1;
    }
    chosen = code;
    tiles[code].setAttribute("aria-selected", "true");
    tiles[code].tabIndex = 0;
    if (focus) tiles[code].focus();
    tell(code);
    fill(code);
  }

  function tell(code) {
    $("status").textContent = `${describe(code)}.`;
  }

  const codeOf = (event) => {
    const element = event.target.closest(".code");
    return element ? Number(element.dataset.code) : -1;
  };

  mosaic.addEventListener("click", (event) => {
    const code = codeOf(event);
    if (code >= 0) choose(code, true);
  });
  mosaic.addEventListener("mouseover", (event) => {
    const code = codeOf(event);
    if (code >= 0) tell(code);
  });
  mosaic.addEventListener("mouseleave", () => chosen >= 0 && tell(chosen));
  mosaic.addEventListener("keydown", (event) => {
    const at = order.indexOf(codeOf(event));
    const last = order.length - 1;
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => at + columns(), ArrowUp: () => at - columns(),
      Home: () => 0, End: () => last, PageDown: () => at + 5 * columns(), PageUp: () => at - 5 * columns(),
    };
    if (event.key === "Enter" || event.key === " ") {
      choose(order[at], true);
    } else if (event.key in moves) {
      const to = Math.min(last, Math.max(0, moves[event.key]()));
      tiles[order[at]].tabIndex = -1;
      tiles[order[to]].tabIndex = 0;
      tiles[order[to]].focus();
      tell(order[to]);
    } else {
      return;
    }
    event.preventDefault();
  });

  // The panel

  function fill(code) {
    const exemplar = $("exemplar");
    show(exemplar, data.index[code], data.sprite, height, width, Math.max(1, Math.round(108 / Math.max(height, width))));
    exemplar.setAttribute("aria-label", `Code ${code}, enlarged`);
    $("code-title").textContent = `Code ${code}`;
    const members = data.members ? data.members[code] : null;
    $("code-text").textContent = !members ? "" : members.length
      ? `Represents ${plural(members.length, "other candidate", "other candidates")}: ${mean(data.after[code])}`
      : "Represents itself alone: no other candidate responds like it.";
    if (data.top) fillClasses(data.top[code]);
    if (data.regions) fillRegions(code);
    if (members) fillMembers(code, members);
  }

  function mean(values) {
    return `mean correlation ${number(values.reduce((a, b) => a + b, 0) / values.length)} after pooling.`;
  }

  function fillClasses(top) {
    $("excited").hidden = top.length === 0;
    const most = Math.max(...top.map(([, ratio]) => ratio), 1);
    $("code-classes").replaceChildren(...top.map(([name, ratio]) => {
      const row = make("li");
      const bar = make("i");
      bar.style.width = `${(100 * ratio) / most}%`;
      const track = make("span", "track");
      track.append(bar);
      row.append(make("span", "name", data.classes[name]), track, make("span", "n", `${ratio.toFixed(1)}×`));
      row.title = `${data.classes[name]}: ${ratio.toFixed(2)} times the mean of all classes`;
      return row;
    }));
  }

  function fillRegions(code) {
    const { h, w, items, names, label } = data.regions;
    const zoom = Math.max(1, Math.floor(96 / Math.max(h, w)));
    $("regions").replaceChildren(...items[code].map(([image, y, x], rank) => {
      const row = make("li");
      const picture = make("span", "region");
      show(picture, code * data.regions.count + rank, data.regions, h, w, zoom);
      const frame = make("i");
      Object.assign(frame.style, {
        left: `${x * zoom}px`, top: `${y * zoom}px`, width: `${width * zoom}px`, height: `${height * zoom}px`,
      });
      picture.append(frame);
      const text = label ? data.classes[label[image]] : names[image];
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", `Region of ${names[image]}${label ? `, ${text}` : ""}`);
      row.title = names[image];
      row.append(picture, make("span", "name", text));
      return row;
    }));
    if (!items[code].length) $("regions").replaceChildren(make("li", "missing", "None of the images looked at excites it."));
  }

  function bar(kind, value, name) {
    const track = make("span", `track ${kind}`);
    const filled = make("i");
    filled.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
    track.append(filled);
    track.title = `${name}: ${number(value)}`;
    return [track, make("span", "n", number(value))];
  }

  function fillMembers(code, members) {
    $("members").replaceChildren(...members.map((candidate, rank) => {
      const row = make("li");
      row.dataset.candidate = candidate;
      const values = make("span", "values");
      if (data.before) values.append(...bar("before", data.before[code][rank], "over single patches"));
      values.append(...bar("after", data.after[code][rank], "after pooling"));
      row.append(tile(candidate, 40), values);
      return row;
    }));
    $("members").scrollTop = 0;
  }

  // The tools

  $("order").addEventListener("change", (event) => arrange(event.target.value));
  $("whitened").addEventListener("change", (event) => {
    document.body.classList.toggle("whitened", event.target.checked);
  });
  const search = $("search");
  if (search) {
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      const exact = data.classes.findIndex((name) => name.toLowerCase() === wanted);
      const fits = (name) => (exact >= 0 ? name === data.classes[exact] : name.toLowerCase().includes(wanted));
      let found = 0;
      tiles.forEach((element, code) => {
        const top = data.top[code];
        const is = wanted === "" || (top.length > 0 && fits(data.classes[top[0][0]]));
        element.classList.toggle("dim", !is);
        found += is;
      });
      document.querySelectorAll("#confusion tr[data-class]").forEach((row) => {
        row.classList.toggle("found", wanted !== "" && fits(data.classes[Number(row.dataset.class)]));
      });
      $("status").textContent = wanted === "" ? "" : `${plural(found, "code is", "codes are")} excited most by “${search.value.trim()}”.`;
    });
  }

  build();
  new ResizeObserver(resize).observe(mosaic);
  choose(data.first, false);
})();
