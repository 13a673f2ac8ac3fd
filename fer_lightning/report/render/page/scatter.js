// t-SNE plots: the image under the pointer or the arrow keys is shown with every model's answer.
{
  const SVG = "http://www.w3.org/2000/svg";
  const SIDE = 320; // units of a plot's coordinates
  const NEAR = 26; // pixels on the screen between pointer and mark
  const PIXELS = 144; // of a face in the panel

  const circle = (name) => {
    const element = document.createElementNS(SVG, "circle");
    element.setAttribute("class", name);
    element.setAttribute("r", 8);
    element.setAttribute("visibility", "hidden");
    return element;
  };

  const heatMap = (maps, place, colours) => {
    const [height, width] = maps.size;
    const canvas = make("canvas", { width, height });
    const pen = canvas.getContext("2d");
    const picture = pen.createImageData(width, height);
    for (let cell = 0; cell < width * height; cell += 1) {
      const heat = maps.bytes.charCodeAt(place * width * height + cell) / 255;
      picture.data.set(colours[Math.round(heat * (colours.length - 1))], 4 * cell);
    }
    pen.putImageData(picture, 0, 0);
    return canvas;
  };

  const start = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const panel = figure.querySelector(".panel");
    const hint = panel.firstElementChild;
    const sprite = figure.querySelector(".sprite");
    const off = { class: new Set(), answer: new Set() };
    let current = null; // the row of the image that is shown
    let pinned = false;

    const plots = [...figure.querySelectorAll(".plot")].map((box, place) => {
      const model = data.models[place];
      model.maps.bytes = atob(model.maps.heat);
      const svg = box.querySelector("svg");
      const rings = [circle("halo"), circle("ring")];
      svg.append(...rings);
      return { box, svg, rings, model, at: new Map(model.row.map((row, i) => [row, i])) };
    });

    const className = (label) => data.classes[label] ?? "unknown";
    const isRight = (model, i) => model.label[i] === model.predicted[i];
    const isShown = (model, i) => !off.class.has(String(model.label[i]))
      && !off.answer.has(isRight(model, i) ? "right" : "wrong");

    const face = (row, map) => {
      const canvas = make("canvas", { width: PIXELS, height: PIXELS });
      canvas.setAttribute("aria-hidden", "true");
      const place = data.faces[row];
      const [width, height, columns] = data.sprite;
      const x = (place % columns) * width;
      const y = Math.floor(place / columns) * height;
      canvas.dataset.sprite = `${x},${y}`;
      const pen = canvas.getContext("2d");
      pen.imageSmoothingQuality = "high";
      sprite.decode().then(() => {
        pen.drawImage(sprite, x, y, width, height, 0, 0, PIXELS, PIXELS);
        if (map) pen.drawImage(map, 0, 0, PIXELS, PIXELS);
      });
      return canvas;
    };

    const answer = ({ model, at, box }, row) => {
      const i = at.get(row);
      if (i === undefined || box.classList.contains("no-model")) return [];
      const right = isRight(model, i);
      const verdict = make("span", { className: right ? "right" : "wrong" }, right ? "✓ right" : "✗ wrong");
      const words = make("div", {}, make("b", { textContent: model.name }),
        `${className(model.predicted[i])}, ${model.percent[i].toFixed(0)} %`, make("br"), verdict);
      const one = make("div", { className: "one answer" });
      const map = model.maps.places[row];
      if (map !== undefined && row in data.faces) one.append(face(row, heatMap(model.maps, map, data.heat)));
      one.append(words);
      return [one];
    };

    const show = (row) => {
      current = row;
      for (const { model, at, rings } of plots) {
        const i = at.get(row);
        for (const ring of rings) {
          ring.setAttribute("visibility", i === undefined ? "hidden" : "visible");
          if (i === undefined) continue;
          ring.setAttribute("cx", model.x[i]);
          ring.setAttribute("cy", model.y[i]);
        }
      }
      figure.classList.toggle("pinned", pinned);
      if (row === null) {
        panel.replaceChildren(hint);
        return;
      }
      const { model, at } = plots.find((plot) => plot.at.has(row));
      const about = make("div", {}, make("b", { textContent: className(model.label[at.get(row)]) }),
        `true label`, make("br"), `image ${row}`, ...(pinned ? [make("br"), "kept; Esc lets go"] : []));
      const one = make("div", { className: "one" });
      if (row in data.faces) one.append(face(row));
      one.append(about);
      panel.replaceChildren(one, ...plots.flatMap((plot) => answer(plot, row)));
    };

    const release = () => { pinned = false; show(null); };

    const nearest = (model, x, y, allowed = () => true) => {
      let best = null;
      let least = Infinity;
      for (let i = 0; i < model.row.length; i += 1) {
        const away = (model.x[i] - x) ** 2 + (model.y[i] - y) ** 2;
        if (away < least && isShown(model, i) && allowed(i)) [best, least] = [i, away];
      }
      return [best, Math.sqrt(least)];
    };

    const under = ({ svg, model }, event) => {
      const { left, top, width } = svg.getBoundingClientRect();
      const scale = SIDE / width;
      const [i, away] = nearest(model, (event.clientX - left) * scale, (event.clientY - top) * scale);
      return away / scale <= NEAR ? i : null;
    };

    const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const next = ({ model, at }, key) => {
      const from = at.get(current);
      if (from === undefined) return nearest(model, SIDE / 2, SIDE / 2)[0];
      if (key in STEPS) { // the nearest mark within a quarter turn of the arrow
        const [right, down] = STEPS[key];
        return nearest(model, model.x[from], model.y[from], (i) => {
          const [dx, dy] = [model.x[i] - model.x[from], model.y[i] - model.y[from]];
          const along = dx * right + dy * down;
          return along > 0 && along >= Math.abs(dx * down + dy * right);
        })[0];
      }
      const step = key === "PageDown" ? 1 : -1;
      for (let i = from + step; i >= 0 && i < model.row.length; i += step) if (isShown(model, i)) return i;
      return null;
    };

    for (const plot of plots) {
      const { svg, model } = plot;
      svg.setAttribute("tabindex", 0);
      svg.setAttribute("role", "application");
      svg.setAttribute("aria-roledescription", "scatter plot");
      svg.addEventListener("pointermove", (event) => {
        const i = pinned ? null : under(plot, event);
        if (i !== null && model.row[i] !== current) show(model.row[i]);
      });
      svg.addEventListener("click", (event) => {
        const i = under(plot, event);
        if (i === null) return release();
        pinned = !(pinned && current === model.row[i]);
        show(model.row[i]);
      });
      svg.addEventListener("keydown", (event) => {
        if (event.key === "Escape") return release();
        if (event.key === "Enter" && current !== null) {
          pinned = !pinned;
          show(current);
        } else if (event.key in STEPS || event.key === "PageDown" || event.key === "PageUp") {
          event.preventDefault();
          const i = next(plot, event.key);
          if (i !== null) show(model.row[i]);
        }
      });
    }

    for (const chip of figure.querySelectorAll(".legend .chip")) {
      const kind = chip.dataset.class === undefined ? "answer" : "class";
      chip.addEventListener("click", () => {
        const shown = chip.getAttribute("aria-pressed") !== "true";
        chip.setAttribute("aria-pressed", shown);
        if (shown) off[kind].delete(chip.dataset[kind]);
        else off[kind].add(chip.dataset[kind]);
        for (const path of figure.querySelectorAll(".plot path")) {
          path.toggleAttribute("data-off", off.class.has(path.dataset.class) || off.answer.has(path.dataset.answer));
        }
      });
    }
    document.addEventListener("models", () => show(current));

    const reserve = () => { // room for an answer of each model, so that plots stay where they are
      const row = current;
      panel.style.minHeight = "";
      show(row ?? data.models.find((model) => model.row.length)?.row[0] ?? null);
      panel.style.minHeight = `${panel.offsetHeight}px`;
      show(row);
    };
    reserve();
    addEventListener("resize", reserve);
  };

  for (const figure of document.querySelectorAll("figure.scatter")) start(figure);
}
