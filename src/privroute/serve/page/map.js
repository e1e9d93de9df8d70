"use strict";
// The network on two canvases: the links below, routes and ends above.
window.privroute = window.privroute || {};

privroute.LANES = 6; // routes that are drawn side by side, each in its own colour; the others are thin
privroute.BREAKS_OF_CAPACITY = [0.25, 0.5, 0.75, 1, 1.5, 2];

privroute.NetworkMap = class extends privroute.MapView {
  constructor(place, drawing, listeners) {
    super();
    this.place = place;
    this.nodes = drawing.nodes;
    this.links = drawing.links;
    this.shapes = new privroute.Shapes(drawing);
    this.listeners = listeners;
    this.below = place.querySelector("#network");
    this.above = place.querySelector("#overlay");
    this.tip = place.querySelector("#tip");
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.breaks = privroute.breaksFor(drawing);
    this.classes = this.links.value.map((value) => privroute.classOf(value, this.breaks));
    this.connector = new Set(this.links.connector);
    this.routes = [];
    this.ends = { origin: null, destination: null };
    this.emphasised = null;
    this.marked = null; // a link that is selected
    this.losses = null; // minutes that trips from each zone lose
    this.vehicle = null;
    this._prepare();
    this._readColours();
    this._listen();
    new ResizeObserver(() => this._resize()).observe(place);
    if (drawing.basemap && drawing.projection)
      this.basemap = new privroute.Basemap(drawing.basemap, new privroute.Projection(drawing.projection), () => this._draw());
    this._resize();
    this.fit();
    this._drawNow();
  }

  // Colours of another period of the day.
  recolour(drawing) {
    this.breaks = privroute.breaksFor(drawing);
    this.classes = this.links.value.map((value) => privroute.classOf(value, this.breaks));
    this.repaint();
  }

  // What does not depend on the view: directions of links, whether the opposite link exists, a typical length.
  _prepare() {
    const { tail, head } = this.links;
    const { x, y } = this.nodes;
    const ends = tail.map((_, i) => this.shapes.ends(i)); // by place: a junction with forbidden turns has several nodes
    const known = new Set(ends.map((each) => each.join(" to ")));
    this.aside = tail.map((from, i) => {
      const dx = x[head[i]] - x[from], dy = y[head[i]] - y[from];
      const length = Math.hypot(dx, dy) || 1;
      return known.has(`${ends[i][1]} to ${ends[i][0]}`) ? [dy / length, dx / length] : [0, 0]; // to the right, y downwards
    });
    const lengths = tail
      .map((from, i) => Math.hypot(x[head[i]] - x[from], y[head[i]] - y[from]))
      .filter((_, i) => !this.connector.has(i))
      .sort((a, b) => a - b);
    this.typical = lengths[Math.floor(lengths.length / 2)] || 50;
    const perHour = this.nodes.zone_per_h;
    const most = perHour ? Math.max(privroute.extent(perHour)[1], 1e-9) : 1;
    this.size = this.nodes.zone.map((_, i) => (perHour ? Math.sqrt(perHour[i] / most) : 0.5));
    const [left, right] = privroute.extent(x), [low, high] = privroute.extent(y);
    this.box = [left, low, right, high];
  }

  _readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colour = {
      classes: [0, 1, 2, 3, 4, 5, 6].map((i) => read(`class-${i}`)),
      routes: [0, 1, 2, 3, 4, 5].map((i) => read(`route-${i}`)),
      ink: read("ink"), paper: read("paper"), ground: read("ground"), soft: read("ink-soft"),
      loss: Object.fromEntries(["gain-2", "gain-1", "loss-even", "loss-1", "loss-2", "loss-none"].map((name) => [name, read(name)])),
      zone: read("zone"), edge: read("zone-edge"), faded: read("faded"), accent: read("accent"),
    };
  }

  repaint() {
    this._readColours();
    this._drawNow();
  }

  // ---- drawing

  _draw() {
    if (this.waiting || !this.view) return;
    this.waiting = requestAnimationFrame(() => this._drawNow());
  }

  // At once: what is shown first, or after the canvases were emptied, must not wait for a frame that may never come.
  _drawNow() {
    if (!this.view || !this.colour) return;
    cancelAnimationFrame(this.waiting);
    this.waiting = null;
    this._drawBelow();
    this._drawAbove();
  }

  get stroke() {
    return Math.min(Math.max(this.typical * this.view.scale * 0.055, 1), 5);
  }

  _drawBelow() {
    const pen = this.below.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    pen.lineCap = pen.lineJoin = "round";
    if (this.basemap) {
      const dark = document.documentElement.dataset.theme === "dark";
      this.basemap.draw(pen, { at: (point) => this.at(point), back: (point) => this.back(point), width: this.width, height: this.height, faded: dark });
    }
    const faded = this.routes.length > 0 || this.losses !== null;
    const width = faded ? Math.min(this.stroke, 2.6) : this.stroke;
    for (const connectors of [true, false]) {
      for (let of = 0; of < 7; of++) {
        pen.beginPath();
        for (let i = 0; i < this.classes.length; i++) {
          if (this.classes[i] !== of || this.connector.has(i) !== connectors) continue;
          if (this.shapes.hidden.has(i)) continue;
          const points = this.shapes.of(i).map((point) => this.at(point));
          if (points.every(([x]) => x < 0) || points.every(([x]) => x > this.width) || points.every(([, y]) => y < 0) || points.every(([, y]) => y > this.height)) continue;
          const [ax, ay] = this.aside[i], shift = width * 0.72;
          points.forEach(([x, y], k) => (k ? pen.lineTo(x + ax * shift, y + ay * shift) : pen.moveTo(x + ax * shift, y + ay * shift)));
        }
        pen.globalAlpha = connectors ? 0.35 : faded ? 0.7 : 1;
        pen.strokeStyle = faded ? this.colour.faded : this.colour.classes[of];
        pen.lineWidth = connectors ? width * 0.5 : width * (faded ? 1 : 0.85 + of * 0.08);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
  }

  _drawZones(pen) {
    const onRoute = new Set(this.routes.flatMap((route) => route.links.map((link) => this.links.head[link])));
    const few = this.nodes.zone.length <= 60;
    const spacing = Math.sqrt((this.width * this.height) / Math.max(this.nodes.zone.length, 1)) * (this.view.scale / (this.smallest * 3 || 1));
    const labelled = few || spacing > 92;
    const room = few ? Math.min(Math.max(this.typical * this.view.scale * 0.085, 6.5), 9) : Math.min(Math.max(spacing * 0.045, 1.6), 9);
    const font = getComputedStyle(document.body).fontFamily;
    pen.font = `600 ${Math.min(Math.max(room * 1.25, 8.5), 11)}px ${font}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    this.nodes.zone.forEach((node, i) => {
      const [x, y] = this.screen(node);
      if (x < -20 || x > this.width + 20 || y < -20 || y > this.height + 20) return;
      const radius = room * (0.75 + 0.45 * this.size[i]) * (this.losses ? 1.5 : 1);
      pen.globalAlpha = this.routes.length && !onRoute.has(node) ? 0.5 : 1;
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      const lost = this.losses ? this.colour.loss[privroute.lossClass(this.losses[i])] : null;
      pen.fillStyle = lost ?? (labelled ? this.colour.zone : this.colour.edge);
      pen.fill();
      if (labelled) {
        pen.strokeStyle = this.colour.edge;
        pen.lineWidth = 1.3;
        pen.stroke();
        pen.fillStyle = this.colour.ink;
        const text = String(this.nodes.label[node]);
        if (text.length <= 2 || (text.length === 3 && radius > 8)) pen.fillText(text, x, y + 0.5);
        else pen.fillText(text.slice(0, 16), x, y - radius - 8);
      }
    });
    pen.globalAlpha = 1;
  }

  _drawAbove() {
    const pen = this.above.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    pen.lineJoin = pen.lineCap = "round";
    const order = this.routes.map((_, i) => i).filter((i) => i !== this.emphasised).sort((i, j) => this._isWide(i) - this._isWide(j));
    if (this.emphasised !== null) order.push(this.emphasised);
    this._drawConnectors(pen);
    for (const casing of [true, false]) {
      for (const i of order) {
        const quiet = this.emphasised !== null && this.emphasised !== i;
        const width = this._routeWidth(i);
        this._trace(pen, this._polyline(i).line);
        pen.globalAlpha = quiet && !casing ? 0.3 : 1;
        pen.lineWidth = casing ? width + (this._isWide(i) ? 3 : 1.5) : width;
        pen.strokeStyle = casing ? this.colour.ground : this.routeColour(i);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    this._drawLegs(pen);
    if (this.marked !== null) this._drawLinkMark(pen, this.marked, this.colour.accent);
    if (this.hover && this.hover.link !== undefined) this._drawLinkMark(pen, this.hover.link);
    this._drawZones(pen);
    this._drawEnds(pen);
    this.badges = [];
    const wide = order.filter((i) => this._isWide(i));
    if (this.emphasised !== null) wide.unshift(wide.pop()); // it has the first choice of places
    for (const i of wide) this._drawBadge(pen, i);
    if (this.vehicle) this._drawVehicle(pen);
  }

  // The ways from and to the places of a driver, dashed.
  _drawLegs(pen) {
    const shown = this.emphasised ?? 0;
    for (const leg of (this.routes[shown] && this.routes[shown].legs) || []) {
      this._trace(pen, leg.map((point) => this.at(point)));
      pen.setLineDash([7, 6]);
      pen.lineWidth = 3;
      pen.strokeStyle = this.colour.ink;
      pen.stroke();
    }
    pen.setLineDash([]);
  }

  // Links between a zone and the streets are not streets: thin, dashed lines show where the routes of a zone begin.
  _drawConnectors(pen) {
    const drawn = new Set();
    pen.setLineDash([2, 5]);
    pen.lineWidth = 2;
    pen.strokeStyle = this.colour.soft;
    this.routes.forEach((route) => {
      const { points } = this.shapes.along(route.links);
      for (const [node, point] of [[this.ends.origin, points[0]], [this.ends.destination, points[points.length - 1]]]) {
        if (typeof node !== "number" || !point || drawn.has(`${node} ${point}`)) continue;
        drawn.add(`${node} ${point}`);
        this._trace(pen, [this.screen(node), this.at(point)]);
        pen.stroke();
      }
    });
    pen.setLineDash([]);
  }

  _isWide(i) {
    return i < privroute.LANES || i === this.emphasised;
  }

  routeColour(i) {
    return i < privroute.LANES ? this.colour.routes[i] : this.colour.soft;
  }

  _routeWidth(i) {
    return this._isWide(i) ? 3 + 3.5 * Math.sqrt(this.routes[i].probability) : 1.4;
  }

  // The most probable routes run side by side where they share links, so that none hides another; others in the middle.
  _polyline(i) {
    const lanes = this.routes.slice(0, privroute.LANES).map((_, j) => this._routeWidth(j) + 1);
    let lane = 0;
    if (i < lanes.length) {
      lane = (this._routeWidth(i) - lanes.reduce((sum, width) => sum + width, 0)) / 2;
      for (let j = 0; j < i; j++) lane += lanes[j];
    }
    const { points, offsets } = this.shapes.along(this.routes[i].links);
    const places = points.map((point) => this.at(point));
    const normals = places.slice(1).map(([x, y], k) => {
      const dx = x - places[k][0], dy = y - places[k][1], length = Math.hypot(dx, dy) || 1;
      return [-dy / length, dx / length];
    });
    const line = places.map(([x, y], k) => {
      const before = normals[k - 1] || normals[k] || [0, 0], after = normals[k] || before;
      const stretch = 1 + before[0] * after[0] + before[1] * after[1]; // the joint of two lanes
      const by = lane / Math.max(stretch, 0.6);
      return [x + (before[0] + after[0]) * by, y + (before[1] + after[1]) * by];
    });
    return { line, offsets };
  }

  // A place on a route: link k of it, and the share of that link that lies behind.
  _on({ line, offsets }, k, share) {
    const points = line.slice(offsets[k], offsets[k + 1] + 1);
    if (points.length < 2) return points[0] || line[0];
    const steps = points.slice(1).map(([x, y], j) => Math.hypot(x - points[j][0], y - points[j][1]));
    let left = share * steps.reduce((sum, step) => sum + step, 0), j = 0;
    while (j < steps.length - 1 && left > steps[j]) left -= steps[j++];
    const part = Math.min(left / (steps[j] || 1), 1), [p, q] = [points[j], points[j + 1]];
    return [p[0] + (q[0] - p[0]) * part, p[1] + (q[1] - p[1]) * part];
  }

  _trace(pen, points) {
    pen.beginPath();
    points.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  }

  _drawLinkMark(pen, link, colour = this.colour.ink) {
    const shift = this.stroke * 0.72, [ax, ay] = this.aside[link];
    this._trace(pen, this.shapes.of(link).map((point) => this.at(point)).map(([x, y]) => [x + ax * shift, y + ay * shift]));
    pen.strokeStyle = colour;
    pen.lineWidth = this.stroke + (colour === this.colour.ink ? 2 : 5);
    pen.stroke();
  }

  // Whether the way from or to a place leads upwards there (negative) or downwards, so that its plate does not cover it.
  _legsLead(x, y) {
    const legs = this.routes.length ? this.routes[this.emphasised ?? 0].legs || [] : [];
    const near = legs.flat().map((point) => this.at(point)).filter(([px, py]) => Math.hypot(px - x, py - y) < 80);
    return near.reduce((sum, [, py]) => sum + py - y, 0);
  }

  // Both ends as labelled plates: the origin outlined, the destination filled.
  _drawEnds(pen) {
    pen.font = `650 13px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [which, node] of Object.entries(this.ends)) {
      if (node === null) continue;
      const place = typeof node === "object" ? node : null; // somewhere on the map, or a zone
      const [x, y] = place ? this.at(place.at) : this.screen(node);
      const text = String(place ? place.name : this.nodes.label[node]).slice(0, 20);
      const half = Math.max(pen.measureText(text).width / 2 + 8, 13);
      const top = place ? y + (this._legsLead(x, y) < 0 ? 12 : -36) : y - 12; // beside a place, on a zone
      if (place) {
        pen.beginPath();
        pen.arc(x, y, 6, 0, 7);
        pen.fillStyle = which === "origin" ? this.colour.paper : this.colour.ink;
        pen.fill();
        pen.lineWidth = 2.5;
        pen.strokeStyle = which === "origin" ? this.colour.ink : this.colour.paper;
        pen.stroke();
      }
      const [fill, edge] = which === "origin" ? [this.colour.paper, this.colour.ink] : [this.colour.ink, this.colour.paper];
      pen.beginPath();
      pen.roundRect(x - half, top, 2 * half, 24, 12);
      pen.fillStyle = fill;
      pen.fill();
      pen.lineWidth = which === "origin" ? 2.5 : 1.5;
      pen.strokeStyle = edge;
      pen.stroke();
      pen.fillStyle = edge;
      pen.fillText(text, x, top + 12.5);
    }
  }

  // The number of a route stands where it goes alone, if it does somewhere.
  _drawBadge(pen, i) {
    if (this.routes.length < 2) return;
    const links = this.routes[i].links;
    const others = this.routes.filter((_, j) => j !== i && this._isWide(j));
    const alone = links.map((link) => !others.some((other) => other.links.includes(link)));
    let best = [0, links.length], length = 0;
    for (let from = 0; from < links.length; from++) {
      let to = from;
      while (to < links.length && alone[to]) to++;
      if (to - from > length) [best, length] = [[from, to], to - from];
      from = Math.max(from, to - 1);
    }
    if (!links.length) return;
    // the first place on it where no other badge is: the middle, then towards its ends, then elsewhere on the route
    const tries = [[best, 9], [[0, links.length], 19]].flatMap(([[from, to], count]) =>
      Array.from({ length: count }, (_, k) => from + (to - from) * (0.5 + ((k % 2 ? 1 : -1) * Math.ceil(k / 2)) / (count + 1))));
    const line = this._polyline(i);
    const places = tries.map((along) => {
      const at = Math.min(Math.floor(along), links.length - 1);
      return this._on(line, at, along - at);
    });
    const [x, y] = places.find(([px, py]) => this.badges.every(([bx, by]) => Math.hypot(px - bx, py - by) > 21)) ?? places[0];
    this.badges.push([x, y]);
    pen.beginPath();
    pen.arc(x, y, 10, 0, 7);
    pen.fillStyle = this.routeColour(i);
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = this.colour.paper;
    pen.stroke();
    pen.fillStyle = this.colour.paper;
    pen.font = `700 12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(String(i + 1), x, y + 0.5);
  }

  // ---- a vehicle that drives a route, link after link in proportion to their times

  drive(i) {
    const durations = this.routes[i].links.map((link) => Math.max(this.links.duration[link] || 0, 1e-6));
    const total = durations.reduce((sum, each) => sum + each, 0);
    this.emphasised = i;
    if (this.still.matches) {
      this._draw();
      return;
    }
    const vehicle = { route: i, share: 0 };
    const begin = performance.now(), lasts = 3200;
    this.vehicle = vehicle;
    const step = (now) => {
      if (this.vehicle !== vehicle) return;
      const time = Math.min((now - begin) / lasts, 1);
      let left = time * total, at = 0;
      while (at < durations.length - 1 && left > durations[at]) left -= durations[at++];
      vehicle.at = at;
      vehicle.share = Math.min(left / durations[at], 1);
      if (time === 1) this.vehicle = null;
      else requestAnimationFrame(step);
      if (!this.waiting) this._drawAbove();
    };
    requestAnimationFrame(step);
  }

  _drawVehicle(pen) {
    const { route, at = 0, share } = this.vehicle;
    if (!this.routes[route]) return;
    const [x, y] = this._on(this._polyline(route), at, share);
    pen.beginPath();
    pen.arc(x, y, 17, 0, 7);
    pen.globalAlpha = 0.22;
    pen.fillStyle = this.routeColour(route);
    pen.fill();
    pen.globalAlpha = 1;
    pen.beginPath();
    pen.arc(x, y, 7.5, 0, 7);
    pen.fillStyle = this.colour.paper;
    pen.fill();
    pen.lineWidth = 4;
    pen.strokeStyle = this.routeColour(route);
    pen.stroke();
  }

  show(routes, ends) {
    this.vehicle = null;
    this.emphasised = null;
    this.routes = routes;
    this.ends = ends;
    this.place.querySelector("#legend").hidden = routes.length > 0; // the links are grey then
    this._draw();
  }

  // Mark a link, and colour zones by what their trips lose; null for none.
  mark(link, losses) {
    this.marked = link;
    this.losses = losses;
    this.place.querySelector("#legend").hidden = this.routes.length > 0 && losses === null;
    this.listeners.legend(losses !== null);
    this._draw();
  }

  emphasise(i) {
    this.vehicle = null;
    this.emphasised = i;
    this._draw();
  }
};

privroute.breaksFor = (drawing) => {
  if (drawing.coloured_by === "volume_over_capacity") return privroute.BREAKS_OF_CAPACITY;
  const used = drawing.links.value.filter((value) => value > 0).sort((a, b) => a - b);
  const nice = (value) => Number(Math.max(value, 1).toPrecision(2));
  const breaks = [0.2, 0.4, 0.6, 0.75, 0.88, 0.96].map((share) => nice(used[Math.floor(share * used.length)] || 1));
  return breaks.filter((value, i) => i === 0 || value > breaks[i - 1]);
};

privroute.classOf = (value, breaks) => {
  if (value === null) return breaks.length;
  let of = 0;
  while (of < breaks.length && value >= breaks[of]) of++;
  return of;
};
