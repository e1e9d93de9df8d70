"use strict";
// A text field with a list of zones and streets (the combobox pattern of ARIA 1.2): type, arrow keys, Enter, Escape.
window.privroute = window.privroute || {};

privroute.ZoneField = class {
  static MOST_SHOWN = 60;

  // streets : names that are found, too, behind the labels of zones
  constructor(input, list, labels, onChoose, streets = []) {
    this.input = input;
    this.list = list;
    this.labels = labels.concat(streets);
    this.zones = labels.length;
    this.onChoose = onChoose;
    this.active = -1;
    this.value = null;
    input.addEventListener("input", () => this.open());
    input.addEventListener("focus", () => input.select());
    input.addEventListener("click", () => this.open(true));
    input.addEventListener("blur", () => setTimeout(() => this._leave(), 120));
    input.addEventListener("keydown", (event) => this._key(event));
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose(option.dataset.label);
    });
  }

  set(label) {
    this.value = label;
    this.input.value = label ?? "";
  }

  open(all = false) {
    const typed = all ? "" : this.input.value.trim().toLowerCase();
    const begins = this.labels.filter((label) => label.toLowerCase().startsWith(typed));
    const holds = typed ? this.labels.filter((label) => label.toLowerCase().indexOf(typed) > 0) : [];
    const shown = [...begins, ...holds].slice(0, privroute.ZoneField.MOST_SHOWN);
    const streets = new Set(this.labels.slice(this.zones));
    this.list.replaceChildren(...shown.map((label, i) => {
      const option = document.createElement("li");
      option.id = `${this.list.id}-${i}`;
      option.setAttribute("role", "option");
      option.dataset.label = label;
      option.textContent = label;
      if (streets.has(label)) {
        const kind = document.createElement("small");
        kind.textContent = "street";
        option.append(kind);
      }
      return option;
    }));
    if (!shown.length) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = streets.size ? "No matching zone or street" : "No matching zone";
      this.list.append(none);
    }
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this._activate(typed && shown.length ? 0 : -1);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.active = -1;
  }

  choose(label) {
    this.close();
    this.set(label);
    this.onChoose(label);
  }

  _leave() {
    if (document.activeElement === this.input) return;
    this.close();
    const typed = this.input.value.trim();
    if (typed === (this.value ?? "")) return;
    if (!typed) this.choose(null);
    else if (this.labels.includes(typed)) this.choose(typed);
    else this.input.value = this.value ?? "";
  }

  _activate(i) {
    const options = [...this.list.querySelectorAll("[role=option]")];
    options.forEach((option, j) => option.setAttribute("aria-selected", String(j === i)));
    this.active = i;
    if (i < 0) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    this.input.setAttribute("aria-activedescendant", options[i].id);
    options[i].scrollIntoView({ block: "nearest" });
  }

  _key(event) {
    const options = this.list.querySelectorAll("[role=option]");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) this.open(true);
      else if (options.length) {
        const next = event.key === "ArrowDown" ? this.active + 1 : Math.max(this.active, 0) - 1;
        this._activate((next + options.length) % options.length);
      }
    } else if (event.key === "Enter") {
      event.preventDefault();
      const typed = this.input.value.trim();
      if (!this.list.hidden && this.active >= 0) this.choose(options[this.active].dataset.label);
      else if (this.labels.includes(typed)) this.choose(typed);
    } else if (event.key === "Escape") {
      if (!this.list.hidden) event.stopPropagation();
      this.close();
      this.input.value = this.value ?? "";
    }
  }
};
