// Pictures to the worker, and what it finds to the page. All text is set as text.
(() => {
  const { layer } = data, { classes } = layer;
  const [H, W, channels] = layer.shape, [ph, pw] = layer.patch;
  const MOST_PICTURES = 300, CODES_SHOWN = 24, MARGINS_SHOWN = 10, FRAME_EVERY = 200, SHOWN_EVERY = 300, MOST_REASONS = 8;
  const pictures = []; // {name, found, button}
  const tiles = [];
  let chosen = null, row = null, code = -1, isPinned = false, areAllShown = false, stream = null, asked = 0, told = null, isSaid = false;

  // The worker

  const worker = new Worker(URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" })));
  const waiting = new Map();
  worker.onmessage = ({ data: { id, answer, refused } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    refused === undefined ? resolve(answer) : reject(new Error(refused));
  };
  worker.onerror = (event) => say([`The model does not run in this browser: ${event.message || "it has no workers"}.`], true);

  function ask(what, message, moved = []) {
    return new Promise((resolve, reject) => {
      waiting.set(++asked, { resolve, reject });
      worker.postMessage({ ...message, ask: what, id: asked }, moved);
    });
  }

  const loaded = ask("load", { spec: layer });
  let positions = null;
  loaded.then((answer) => {
    positions = answer.positions;
    document.body.dataset.loops = answer.kind;
    if (!isSaid) say([`Ready. ${plural(layer.codes, "code", "codes")}, ${H} × ${W} pixels.`]);
  }, (error) => say([`The model cannot be unpacked: ${error.message}.`], true));

  function say(lines, isWrong = false) {
    isSaid = true;
    $("status").textContent = lines.join("\n");
    $("status").classList.toggle("wrong", isWrong);
  }

  // Pictures

  const classify = (source, moved) => loaded.then(() => ask("picture", { source, crop: data.crop }, moved));

  /** Take one file after the other; what cannot be taken is listed with its reason. */
  async function take(files, name = null) {
    const wrong = [];
    let count = 0, seen = 0, latest = null;
    stop();
    for (const file of files) {
      if (pictures.length >= MOST_PICTURES) {
        wrong.push(`A page keeps ${MOST_PICTURES} pictures; the rest are left out. Load it again for more.`);
        break;
      }
      if (files.length > 1) say([`Picture ${count + wrong.length + 1} of ${files.length} …`]);
      try {
        latest = add(name || file.name || "Picture", await classify(file));
        count++;
        if (performance.now() - seen > SHOWN_EVERY) {
          choose(latest);
          seen = performance.now();
        }
      } catch (error) {
        wrong.push(`${file.name || "The picture"} cannot be used: ${error.message}.`);
      }
    }
    if (latest && latest !== chosen) choose(latest);
    const more = wrong.length > MOST_REASONS ? [`And ${wrong.length - MOST_REASONS} more.`] : [];
    say([...wrong.slice(0, MOST_REASONS), ...more, ...(latest ? [sentence(latest)] : [])], wrong.length > 0);
  }

  function add(name, found) {
    const picture = { name, found, label: labelOf(found) };
    const entry = make("li"), button = make("button");
    button.type = "button";
    const canvas = make("canvas");
    paint(canvas, found.pixels);
    button.append(canvas);
    if (classes) button.append(make("span", "is", picture.label));
    button.append(make("span", "file", name));
    button.title = name;
    button.addEventListener("click", () => choose(picture));
    entry.append(button);
    picture.button = button;
    pictures.push(picture);
    $("pictures").append(entry);
    $("others").hidden = pictures.length < 2;
    return picture;
  }

  const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  const labelOf = (found) => (classes ? classes[largest(found.margins)] : "");
  const milliseconds = (value) => (value < 9.95 ? value.toFixed(1) : Math.round(value).toString());

  function sentence({ name, found, label }) {
    return classes ? `${name}: ${label}, with a margin of ${number(Math.max(...found.margins))}.` : `${name}: ${plural(found.features.length, "feature", "features")}.`;
  }

  function changed({ size: [height, width] }) {
    if (height === H && width === W) return `${H} × ${W} pixels, as the model sees them.`;
    const cut = data.crop && Math.abs(width / height - W / H) > 1e-9 ? "cut to its middle and " : "";
    return `${height.toLocaleString("en")} × ${width.toLocaleString("en")} pixels, ${cut}scaled to ${H} × ${W}: this is what the model sees.`;
  }

  /** The model's pixels on a canvas. */
  function paint(canvas, pixels) {
    canvas.width = W;
    canvas.height = H;
    const context = canvas.getContext("2d"), image = context.createImageData(W, H);
    for (let i = 0; i < H * W; i++) {
      for (let k = 0; k < 3; k++) image.data[4 * i + k] = pixels[channels * i + (channels === 3 ? k : 0)];
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  /** Where a code fires, as heat over the patches that it sees: (h, w) activations, of which `most` is full. */
  function heat(canvas, map, most) {
    const [h, w] = positions;
    canvas.width = w;
    canvas.height = h;
    const context = canvas.getContext("2d"), image = context.createImageData(w, h);
    for (let i = 0; i < h * w; i++) {
      const share = most > 0 ? map[i] / most : 0;
      image.data.set([225 + 30 * share, 70 + 150 * share * share, 60 * share * share, 240 * Math.sqrt(share)], 4 * i);
    }
    context.putImageData(image, 0, 0);
    const part = (pixels, all) => `${(100 * pixels) / all}%`;
    Object.assign(canvas.style, {
      left: part((pw - layer.stride) / 2, W), top: part((ph - layer.stride) / 2, H),
      width: part(w * layer.stride, W), height: part(h * layer.stride, H),
    });
  }

  function choose(picture) {
    if (chosen && chosen.button) chosen.button.setAttribute("aria-pressed", "false");
    chosen = picture;
    if (picture.button) picture.button.setAttribute("aria-pressed", "true");
    document.body.classList.add("used");
    $("result").hidden = false;
    const { found, name } = picture;
    for (const id of ["image", "shade"]) paint($(id), found.pixels);
    $("picture").setAttribute("aria-label", classes ? `${name}, predicted ${picture.label}` : name);
    $("caption").textContent = `${name}: ${changed(found)}`;
    const time = make("b", "", `${milliseconds(found.milliseconds)} ms`);
    $("time").replaceChildren(time, ` for the model, ${milliseconds(found.reading)} ms to read the picture`);
    if (classes) {
      $("label").textContent = picture.label;
      fillMargins();
    }
    if (picture.button || picture.label !== told) say([sentence(picture)]); // not with every frame of the camera
    told = picture.label;
    return fillCodes();
  }

  // Margins

  function fillMargins() {
    const { margins } = chosen.found, best = largest(margins);
    const order = margins.map((_, i) => i).sort((a, b) => margins[b] - margins[a]);
    const shown = areAllShown ? order : order.slice(0, MARGINS_SHOWN);
    const values = shown.map((i) => margins[i]), low = Math.min(0, ...values), span = Math.max(0, ...values) - low || 1;
    const share = (value) => `${(100 * (value - low)) / span}%`;
    const focused = $("margins").contains(document.activeElement) ? document.activeElement.dataset.row : null;
    $("margins").style.setProperty("--zero", share(0));
    $("margins").replaceChildren(...shown.map((i) => {
      const entry = make("li", i === best ? "first" : ""), button = make("button"), track = make("span", "track"), bar = make("i");
      button.type = "button";
      button.dataset.row = i;
      button.setAttribute("aria-pressed", String(row === i));
      button.title = classes[i];
      bar.style.setProperty("--from", share(Math.min(0, margins[i])));
      bar.style.setProperty("--wide", `${(100 * Math.abs(margins[i])) / span}%`);
      track.append(bar);
      button.append(make("span", "name", classes[i]), track, make("span", "n", number(margins[i])));
      button.addEventListener("click", () => speakFor(row === i ? null : i));
      entry.append(button);
      return entry;
    }));
    const again = focused === null ? null : $("margins").querySelector(`[data-row="${focused}"]`);
    if (again) again.focus();
    $("more").hidden = margins.length <= MARGINS_SHOWN;
    $("more").textContent = areAllShown ? "Show the largest alone" : `Show all ${margins.length.toLocaleString("en")}`;
  }

  function speakFor(number) {
    row = number;
    $("order").value = row === null ? "" : String(row);
    if (classes) fillMargins();
    fillCodes();
  }

  // Codes

  /** Number `which` of the worker is a code or, from `layer.codes` on, the negative of one. */
  const codeOf = (which) => which % layer.codes;
  const nameOf = (which) => `${which < layer.codes ? "Code" : "Negative of code"} ${codeOf(which)}`;
  const sides = layer.signs.some((sign) => sign < 0) ? " A code and its negative fire each for itself." : "";

  function tile(which, pixels) {
    const element = make("span", which < layer.codes ? "tile" : "tile negative");
    show(element, codeOf(which), data.sprite, ph, pw, Math.max(1, Math.round(pixels / Math.max(ph, pw))));
    return element;
  }

  /** Ask which codes fired in the picture chosen and where, unless another has been chosen by then. */
  async function fillCodes() {
    const picture = chosen, { pixels, standard } = picture.found, wanted = row;
    const answer = await ask("codes", { pixels, standard, row: wanted, count: CODES_SHOWN }).catch((error) => error);
    if (picture !== chosen || wanted !== row) return;
    if (answer instanceof Error) {
      say([`The codes cannot be shown: ${answer.message}.`], true);
      return;
    }
    const { scores, shown, maps } = answer;
    const most = maps.map((map) => map.reduce((a, b) => Math.max(a, b), 0));
    $("fired-text").textContent = wanted === null
      ? `By how far they are above their average over the pictures that the model was fitted on, in the part of this picture where that is most.${sides} Choose one to see it larger.`
      : `By what they add to the margin of “${classes[wanted]}”, where they fire or where they are silent that usually fire.${sides} Choose one to see it larger.`;
    const focused = $("codes").contains(document.activeElement) ? document.activeElement.dataset.code : null;
    $("codes").replaceChildren(...shown.map((which, rank) => codeEntry(which, scores[which], maps[rank], most[rank], picture, wanted)));
    if (!shown.length) $("codes").append(make("li", "none", "No code fires above its average in this picture."));
    const again = focused === null ? null : $("codes").querySelector(`[data-code="${focused}"]`) || $("codes").querySelector("button");
    if (again) again.focus();
    tiles.forEach((element, which) => element.classList.toggle("dim", !(scores[which] > 0 || scores[which + layer.codes] > 0)));
    $("dimmed").textContent = wanted === null ? "Dimmed: below their average in this picture." : "Dimmed: speak against the label chosen, in this picture.";
    const at = isPinned ? Math.max(0, shown.indexOf(code)) : 0; // what a reader has chosen stays, if it fires
    point(shown.length ? shown[at] : -1, maps[at]);
  }

  function codeEntry(which, score, map, most, picture, wanted) {
    const entry = make("li"), button = make("button"), mini = make("span", "mini grey"), image = make("canvas"), over = make("canvas", "heat");
    const value = `+${score.toFixed(wanted === null ? 2 : 3)}`;
    button.type = "button";
    button.dataset.code = which;
    button.setAttribute("aria-label", `${nameOf(which)}, ${value.slice(1)} ${wanted === null ? "above its average" : "added to the margin"}`);
    paint(image, picture.found.pixels);
    heat(over, map, most);
    mini.append(image, over);
    const what = make("span", "what");
    what.append(`${codeOf(which)}${which < layer.codes ? "" : " neg."}`, make("b", "", value));
    button.append(tile(which, 42), mini, what);
    button.addEventListener("click", () => {
      isPinned = true;
      point(which, map);
    });
    entry.append(button);
    return entry;
  }

  /** Show one code's map over the large picture. */
  function point(which, map) {
    code = which;
    for (const button of $("codes").querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.dataset.code) === which));
    tiles.forEach((element, at) => element.classList.toggle("lit", which >= 0 && at === codeOf(which)));
    $("heat").hidden = which < 0;
    const text = which < 0 ? "where a code fires" : `where ${which < layer.codes ? "" : "the "}${nameOf(which).toLowerCase()} fires`;
    $("fires-text").textContent = text;
    $("fires").setAttribute("aria-label", text);
    if (which >= 0) heat($("heat"), map, map.reduce((a, b) => Math.max(a, b), 0));
  }

  function buildMosaic() {
    const zoom = Math.max(1, Math.round(36 / Math.max(ph, pw)));
    $("mosaic").style.setProperty("--tile", `${zoom * pw}px`);
    for (let which = 0; which < layer.codes; which++) tiles.push(tile(which, 36));
    $("mosaic").append(...tiles);
  }

  // The camera

  async function start() {
    if (!navigator.mediaDevices || !navigator.mediaDevices.getUserMedia) {
      say(["This browser gives the camera only to pages from https or localhost. Choose pictures instead: a phone offers its camera there."], true);
      return;
    }
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch (error) {
      say([`The camera cannot be used: ${error.name === "NotFoundError" ? "there is none" : "the browser does not allow it"}. Choose pictures instead.`], true);
      return;
    }
    $("camera").setAttribute("aria-pressed", "true");
    $("camera").textContent = "Keep this picture";
    $("video").hidden = false;
    $("video").srcObject = stream;
    await $("video").play().catch(() => {});
    while (stream) {
      const begun = performance.now();
      await frame();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, FRAME_EVERY - (performance.now() - begun))));
    }
  }

  async function frame() {
    if (!stream || !$("video").videoWidth) return;
    try {
      const bitmap = await createImageBitmap($("video")), found = await classify(bitmap, [bitmap]);
      if (stream) await choose({ name: "Camera", found, label: labelOf(found) });
    } catch (error) {
      say([`The camera's picture cannot be used: ${error.message}.`], true);
      stop(false);
    }
  }

  function stop(isKept = true) {
    if (!stream) return;
    for (const track of stream.getTracks()) track.stop();
    stream = null;
    $("video").srcObject = null;
    $("video").hidden = true;
    $("camera").setAttribute("aria-pressed", "false");
    $("camera").textContent = "Camera";
    if (isKept && chosen && !chosen.button && pictures.length < MOST_PICTURES) choose(add("Camera", chosen.found));
  }

  // What happens

  $("files").addEventListener("change", async (event) => {
    await take([...event.target.files]);
    event.target.value = "";
  });
  $("camera").addEventListener("click", () => (stream ? stop() : start()));
  $("order").addEventListener("change", (event) => speakFor(event.target.value === "" ? null : Number(event.target.value)));
  if (classes) $("more").addEventListener("click", () => { areAllShown = !areAllShown; fillMargins(); });
  const takeFrom = (transfer, name) => {
    if (transfer.files.length) take([...transfer.files], name);
    else if (transfer.types.length && name === null) say(["That is a link or text, not a picture, and this page has no network. Save the picture first."], true);
  };
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dragged"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dragged"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragged");
    takeFrom(event.dataTransfer, null);
  });
  addEventListener("paste", (event) => takeFrom(event.clipboardData, "Pasted picture"));
  window.poolwise = { run: (file) => classify(file) }; // for the console: label and numbers of a File or Blob
  buildMosaic();
})();
