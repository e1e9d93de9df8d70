"use strict";
// How links run: through the points of their street where the release has them, otherwise straight from node to node.
window.privroute = window.privroute || {};

privroute.Shapes = class {
  constructor(drawing) {
    this.nodes = drawing.nodes;
    this.links = drawing.links;
    this.streets = drawing.streets ?? null;
    this.hidden = new Set(this.streets ? this.streets.hidden : []);
  }

  // Points [x, y] of a link, in units of the drawing.
  of(link) {
    if (!this.streets) {
      const ends = [this.links.tail[link], this.links.head[link]];
      return ends.map((node) => [this.nodes.x[node], this.nodes.y[node]]);
    }
    const points = [];
    for (let k = this.streets.start[link]; k < this.streets.start[link + 1]; k++) points.push([this.streets.x[k], this.streets.y[k]]);
    return points;
  }

  name(link) {
    return this.streets ? this.streets.names[this.streets.name[link]] : "";
  }

  // Names of the streets along some links, each once in a row; [] where they have none.
  names(links) {
    const found = [];
    for (const link of links) {
      const name = this.name(link);
      if (name && name !== found[found.length - 1]) found.push(name);
    }
    return found;
  }

  // Where a link begins and ends; nodes of one junction may be several and lie at the same place.
  ends(link) {
    const points = this.of(link);
    return [points[0], points[points.length - 1]].map((point) => point.join(" "));
  }

  // A function of a link and an end (0 or 1): the name of another street there, or "".
  crossings() {
    const found = new Map();
    this.links.tail.forEach((_, link) => {
      if (this.hidden.has(link) || !this.name(link)) return;
      for (const place of this.ends(link)) found.set(place, (found.get(place) ?? new Set()).add(this.name(link)));
    });
    return (link, end) => [...(found.get(this.ends(link)[end]) ?? [])].find((name) => name !== this.name(link)) ?? "";
  }

  // Points along links that follow each other, and where in them each link begins.
  along(links) {
    const points = [], offsets = [0];
    for (const link of links) {
      if (!this.hidden.has(link)) {
        const shape = this.of(link);
        for (const point of points.length ? shape.slice(1) : shape) points.push(point);
      }
      offsets.push(Math.max(points.length - 1, 0));
    }
    if (!points.length) for (const link of links) points.push(...this.of(link));
    return { points, offsets };
  }

  // Middle of the streets of a name: the point of its links that is nearest to their mean.
  middle(name) {
    const at = this.streets ? this.streets.names.indexOf(name) : -1;
    if (at < 0) return null;
    const points = [];
    this.streets.name.forEach((each, link) => each === at && !this.hidden.has(link) && points.push(...this.of(link)));
    if (!points.length) return null;
    const mean = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
    const far = ([x, y]) => Math.hypot(x - mean[0], y - mean[1]);
    return points.reduce((best, point) => (far(point) < far(best) ? point : best));
  }
};

// Longitudes and latitudes, and places of the drawing.
privroute.Projection = class {
  constructor({ origin, scale }) {
    this.origin = origin;
    this.scale = scale;
  }
  place([longitude, latitude]) {
    return [(longitude - this.origin[0]) * this.scale[0], (latitude - this.origin[1]) * this.scale[1]];
  }
  degrees([x, y]) {
    return [x / this.scale[0] + this.origin[0], y / this.scale[1] + this.origin[1]];
  }
};
