"use strict";
// Pictures of a public map below the network, only where the operator has named a server for them.
window.privroute = window.privroute || {};

privroute.Basemap = class {
  static SIZE = 256;
  static MOST_KEPT = 400;

  constructor({ tiles, credit }, projection, changed) {
    this.tiles = tiles;
    this.projection = projection;
    this.changed = changed;
    this.pictures = new Map();
    const place = document.getElementById("credit");
    place.textContent = credit;
    place.hidden = false;
  }

  _picture(z, x, y) {
    const key = `${z}/${x}/${y}`;
    if (!this.pictures.has(key)) {
      if (this.pictures.size >= privroute.Basemap.MOST_KEPT) this.pictures.delete(this.pictures.keys().next().value);
      const picture = new Image();
      picture.referrerPolicy = "no-referrer";
      picture.onload = this.changed;
      picture.src = this.tiles.replace("{z}", z).replace("{x}", x).replace("{y}", y);
      this.pictures.set(key, picture);
    }
    return this.pictures.get(key);
  }

  // at : from a place of the drawing to the screen; back : from the screen to the drawing
  draw(pen, { at, back, width, height, faded }) {
    const { degrees, place } = { degrees: (point) => this.projection.degrees(point), place: (point) => this.projection.place(point) };
    const [west, north] = degrees(back([0, 0])), [east, south] = degrees(back([width, height]));
    const z = Math.min(Math.max(Math.round(Math.log2((width / (east - west)) * 360 / privroute.Basemap.SIZE)), 0), 19);
    const all = 2 ** z;
    const column = (longitude) => ((longitude + 180) / 360) * all;
    const row = (latitude) => ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * all;
    const longitude = (x) => (x / all) * 360 - 180;
    const latitude = (y) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / all))) * 180) / Math.PI;
    const inside = (value) => Math.min(Math.max(Math.floor(value), 0), all - 1);
    pen.globalAlpha = faded ? 0.35 : 0.75;
    for (let x = inside(column(west)); x <= inside(column(east)); x++) {
      for (let y = inside(row(north)); y <= inside(row(south)); y++) {
        const picture = this._picture(z, x, y);
        if (!picture.complete || !picture.naturalWidth) continue;
        const [left, top] = at(place([longitude(x), latitude(y)])), [right, bottom] = at(place([longitude(x + 1), latitude(y + 1)]));
        pen.drawImage(picture, left, top, right - left + 0.5, bottom - top + 0.5);
      }
    }
    pen.globalAlpha = 1;
  }
};
