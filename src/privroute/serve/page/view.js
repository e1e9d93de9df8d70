"use strict";
// What part of the drawing is seen, and how pointers and keys change it. Positions come in units of the drawing, y upwards.
window.privroute = window.privroute || {};

// Smallest and largest value; arrays may be longer than what a function takes as arguments.
privroute.extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

privroute.MapView = class {
  // ---- the view

  _resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!width || !height || (width === this.width && height === this.height && ratio === this.ratio)) return;
    const before = this.width;
    this.ratio = ratio;
    this.width = width;
    this.height = height;
    for (const canvas of [this.below, this.above]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    if (before && !this.touched) this.fit();
    this._drawNow(); // the canvases are empty now
  }

  fit(links = null) {
    let [left, low, right, high] = this.box;
    if (links && links.length) {
      const nodes = links.flatMap((i) => [this.links.tail[i], this.links.head[i]]);
      [left, right] = privroute.extent(nodes.map((node) => this.nodes.x[node]));
      [low, high] = privroute.extent(nodes.map((node) => this.nodes.y[node]));
    }
    const narrow = this.width < 600;
    const margin = { side: narrow ? 28 : 72, top: narrow ? 30 : 56, bottom: narrow ? 84 : 112 };
    const wide = Math.max(right - left, 1), tall = Math.max(high - low, 1);
    const most = links ? this.smallest * 3 * 7 : Infinity; // never so close that the surroundings are lost
    const scale = Math.min(
      Math.max(this.width - 2 * margin.side, 40) / wide, Math.max(this.height - margin.top - margin.bottom, 40) / tall, most);
    const from = this.view;
    this.view = {
      scale,
      x: (this.width - scale * (left + right)) / 2,
      y: margin.top + (this.height - margin.top - margin.bottom + scale * (low + high)) / 2,
    };
    if (!links) {
      this.smallest = scale / 3;
      this.touched = false;
    }
    if (from && links && !this.still.matches) this._glide(from, this.view);
    else this._draw();
  }

  _glide(from, to) {
    const begin = performance.now(), lasts = 380;
    const step = (now) => {
      if (this.view !== to && this.view !== this.gliding) return; // somebody moved the map meanwhile
      const time = Math.min((now - begin) / lasts, 1), eased = 1 - (1 - time) ** 3;
      const between = (name) => from[name] + (to[name] - from[name]) * eased;
      this.gliding = this.view = time === 1 ? to : { scale: between("scale"), x: between("x"), y: between("y") };
      this._draw();
      if (time < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // Bring routes into view: at once what is partly outside, and when asked also what is small.
  reveal(links, closer) {
    const nodes = links.flatMap((i) => [this.links.tail[i], this.links.head[i]]).map((node) => this.screen(node));
    const [left, right] = privroute.extent(nodes.map(([x]) => x)), [top, bottom] = privroute.extent(nodes.map(([, y]) => y));
    const outside = left < 20 || right > this.width - 20 || top < 20 || bottom > this.height - 20;
    const small = Math.max((right - left) / this.width, (bottom - top) / this.height) < 0.4;
    if (outside || (closer && small)) {
      this.touched = true;
      this.fit(links);
    }
  }

  screen(node) {
    return this.at([this.nodes.x[node], this.nodes.y[node]]);
  }

  // From a place of the drawing to the screen, and back.
  at([x, y]) {
    return [this.view.x + this.view.scale * x, this.view.y - this.view.scale * y];
  }

  back([x, y]) {
    return [(x - this.view.x) / this.view.scale, (this.view.y - y) / this.view.scale];
  }

  move(dx, dy) {
    this.touched = true;
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
    this._draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.touched = true;
    const scale = Math.min(Math.max(this.view.scale * factor, this.smallest || 0.01), 400);
    const ratio = scale / this.view.scale;
    this.view = { scale, x: x - ratio * (x - this.view.x), y: y - ratio * (y - this.view.y) };
    this._draw();
  }

  // ---- pointers and keys

  _listen() {
    const fingers = new Map();
    let start = null;
    const at = (event) => {
      const box = this.above.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.above.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, at(event));
      this.above.setPointerCapture(event.pointerId);
      start = fingers.size === 1 ? { at: at(event), moved: false } : null;
    });
    this.above.addEventListener("pointermove", (event) => {
      const now = at(event), before = fingers.get(event.pointerId);
      if (!before) {
        this._point(now);
        return;
      }
      if (start && Math.hypot(now[0] - start.at[0], now[1] - start.at[1]) > 5) start.moved = true;
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
        this.zoom(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else if (start && start.moved) {
        this.above.classList.add("moving");
        this.move(now[0] - before[0], now[1] - before[1]);
      }
      fingers.set(event.pointerId, now);
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      this.above.classList.remove("moving");
      if (event.type === "pointerup" && start && !start.moved) {
        const zone = this.zoneAt(at(event), event.pointerType === "mouse" ? 14 : 24);
        const link = zone === null ? this.linkAt(at(event), event.pointerType === "mouse" ? 6 : 14) : null;
        if (zone !== null) this.listeners.choose(zone);
        else if (link !== null && this.listeners.link && this.listeners.link(link)) start = null;
        else if (this.listeners.place) this.listeners.place(this.back(at(event)));
        this._point(null);  // what was chosen is drawn here: the tip returns when the pointer moves
      }
      start = null;
    };
    this.above.addEventListener("pointerup", end);
    this.above.addEventListener("pointercancel", end);
    this.above.addEventListener("pointerleave", () => this._point(null));
    this.above.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    }, { passive: false });
    this.above.addEventListener("keydown", (event) => {
      const step = 60;
      const act = {
        ArrowLeft: () => this.move(step, 0), ArrowRight: () => this.move(-step, 0),
        ArrowUp: () => this.move(0, step), ArrowDown: () => this.move(0, -step),
        "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    });
  }

  zoneAt([x, y], reach) {
    let best = null, nearest = reach;
    for (const node of this.nodes.zone) {
      const [zx, zy] = this.screen(node);
      const far = Math.hypot(zx - x, zy - y);
      if (far < nearest) [best, nearest] = [node, far];
    }
    return best;
  }

  linkAt([x, y], reach) {
    let best = null, nearest = reach;
    const shift = this.stroke * 0.72;
    for (let i = 0; i < this.classes.length; i++) {
      if (this.shapes && this.shapes.hidden.has(i)) continue;
      const [ax, ay] = this.aside[i];
      const points = (this.shapes ? this.shapes.of(i).map((point) => this.at(point)) : [this.screen(this.links.tail[i]), this.screen(this.links.head[i])]);
      for (let k = 1; k < points.length; k++) {
        const [x1, y1] = points[k - 1], [x2, y2] = points[k];
        const px = x - x1 - ax * shift, py = y - y1 - ay * shift, dx = x2 - x1, dy = y2 - y1;
        const along = Math.min(Math.max((px * dx + py * dy) / (dx * dx + dy * dy || 1), 0), 1);
        const far = Math.hypot(px - along * dx, py - along * dy);
        if (far < nearest) [best, nearest] = [i, far];
      }
    }
    return best;
  }

  _point(at) {
    const zone = at && this.zoneAt(at, 14);
    const link = at && zone === null ? this.linkAt(at, 6) : null;
    const found = zone !== null && at ? { zone } : link !== null && at ? { link } : null;
    this.above.classList.toggle("pointing", Boolean(found && found.zone !== undefined));
    const changed = JSON.stringify(found) !== JSON.stringify(this.hover || null);
    this.hover = found;
    this.tip.hidden = !found;
    if (found) {
      if (changed) this.tip.textContent = this.listeners.describe(found);
      const x = Math.min(at[0] + 14, this.width - this.tip.offsetWidth - 8);
      const y = at[1] + 16 + this.tip.offsetHeight > this.height ? at[1] - this.tip.offsetHeight - 10 : at[1] + 16;
      this.tip.style.transform = `translate(${x}px, ${y}px)`;
    }
    if (changed) this._draw();
  }
};
