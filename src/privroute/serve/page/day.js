"use strict";
// The time of day and the kind of day, of a release that has several: a slider, buttons, and the traffic of the day as bars.
window.privroute = window.privroute || {};

privroute.DayChooser = class {
  // change : called with the position of the period that was chosen
  constructor(place, drawing, change) {
    this.periods = drawing.periods;
    this.change = change;
    this.kinds = [...new Set(this.periods.map((each) => each.day_type))];
    this.perKind = this.periods.length / this.kinds.length;
    this.at = drawing.period;
    const { element } = privroute;
    this.slider = element("input", {
      type: "range", id: "clock", min: 0, max: this.perKind - 1, step: 1, "aria-label": "Time of day",
      oninput: () => this.pick(this.kind, Number(this.slider.value)),
    });
    this.now = element("output", { id: "clock-now", for: "clock" });
    this.bars = element("div", { class: "bars", "aria-hidden": "true" });
    const worse = this.periods.find((each) => each.worse);
    this.key = element("p", { class: "key", hidden: !worse }, worse ? element("i", { "aria-hidden": "true" }) : "", worse ? `Hatched: ${worse.verdict}` : "");
    this.buttons = this.kinds.map((name, kind) => element("button", {
      type: "button", class: "kind", onclick: () => this.pick(kind, Number(this.slider.value)),
    }, name ?? "all days"));
    place.replaceChildren(
      element("div", { class: "kinds", role: "group", "aria-label": "Kind of day" }, ...(this.kinds.length > 1 ? this.buttons : [])),
      this.now, this.bars, this.slider, this.key,
    );
    place.hidden = false;
    this.show();
  }
  get kind() {
    return Math.floor(this.at / this.perKind);
  }
  pick(kind, hour) {
    const at = kind * this.perKind + hour;
    if (at === this.at) return;
    this.at = at;
    this.show();
    this.change(at);
  }
  show() {
    const hour = this.at % this.perKind;
    const { day_type: name, period, vehicles_per_h: rate, verdict, worse } = this.periods[this.at];
    const text = `${name ? `${name}, ` : ""}${period}`;
    this.slider.value = String(hour);
    this.slider.setAttribute("aria-valuetext", worse ? `${text}, ${verdict}` : text);
    this.now.textContent = rate === null ? text : `${text} · ${privroute.words.flow(rate)} ${privroute.units.flow}`;
    this.buttons.forEach((button, kind) => button.setAttribute("aria-pressed", String(kind === this.kind)));
    const largest = Math.max(...this.periods.map((each) => each.vehicles_per_h ?? 0), 1);
    const first = this.kind * this.perKind;
    this.bars.replaceChildren(...this.periods.slice(first, first + this.perKind).map((each, i) => {
      const kinds = [...(i === hour ? ["on"] : []), ...(each.worse ? ["worse"] : [])].join(" ");
      const bar = privroute.element("i", { class: kinds || null, title: `${each.period}: ${each.verdict}` });
      bar.style.height = `${Math.max(4, (100 * (each.vehicles_per_h ?? 0)) / largest)}%`;
      return bar;
    }));
  }
};
