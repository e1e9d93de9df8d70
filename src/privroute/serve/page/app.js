"use strict";
// Ties the map, the fields and the sheets together. Data come from the service, or from the file itself in a report.
(() => {
  const { element, words } = privroute;
  const by = (id) => document.getElementById(id);
  const PLACE = /^-?\d{1,3}(\.\d+)?,-?\d{1,3}(\.\d+)?$/;
  const isPlace = (text) => PLACE.test(text ?? "");

  class Service {
    async drawing() {
      const found = await (await fetch("page/drawing.json")).json();
      this.release = found.release;
      this.hasDemand = found.vehicles_per_h !== null;
      return found;
    }
    // What changes on the page with the time of day; later questions are about that period.
    async period(at, { key }) {
      const answer = await fetch(`page/period.json?${new URLSearchParams({ at: key })}`);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.message);
      this.departure = key;
      return found;
    }
    _when() {
      return this.departure ? { departure: this.departure } : {};
    }
    async _ask(what, origin, destination, more) {
      const query = new URLSearchParams({ origin, destination, ...this._when(), ...more });
      const answer = await fetch(`v1/${what}?${query}`);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.message);
      this.answered = found;
      return found.routes;
    }
    // Between zones all routes of the policy; between places those with the ways to and from them.
    async routes(origin, destination) {
      if (!isPlace(origin) && !isPlace(destination)) return this._ask("routes", origin, destination, { release: this.release });
      const found = await this._ask("route", origin, destination, { alternatives: 19, steps: true });
      found.named = this.answered.waypoints.map(({ name, zone }) => name || `Zone ${zone}`);
      return Object.assign(found.map((route) => ({ ...route, probability: route.probability ?? 1, nodes: [], steps: route.legs[0].steps })), { named: found.named });
    }
    async people() {
      if (!this.hasDemand) return null;
      const answer = await fetch(`v1/people?${new URLSearchParams({ release: this.release, ...this._when() })}`);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.message);
      return found;
    }
    async linkUse(link) {
      const answer = await fetch(`v1/link?${new URLSearchParams({ link, limit: 50, release: this.release, ...this._when() })}`);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.message);
      return found;
    }
    async sample(origin, destination, routes) {
      const [drawn] = await this._ask(isPlace(origin) || isPlace(destination) ? "route" : "sample", origin, destination, {});
      return routes.findIndex((route) => String(route.links) === String(drawn.links));
    }
  }

  // Routes as typed arrays, packed into the file: pairs, where their routes start, probabilities, links.
  class Embedded {
    async drawing() {
      this.found = JSON.parse(by("embedded-drawing").textContent);
      await this._unpack(this.found.period, this.found.embedded);
      return this.found;
    }
    async period(at) {
      const found = JSON.parse(by(`embedded-period-${at}`).textContent);
      await this._unpack(at, found.embedded);
      return found;
    }
    async _unpack(at, places) {
      const packed = Uint8Array.from(atob(by(`embedded-routes-${at}`).textContent.trim()), (sign) => sign.charCodeAt(0));
      const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const bytes = await new Response(unpacked).arrayBuffer();
      const kinds = { u2: Uint16Array, u4: Uint32Array, f8: Float64Array, u1: Uint8Array };
      this.table = {};
      for (const { name, kind, at: begin, count } of places) this.table[name] = new kinds[kind](bytes, begin, count);
      this.node = new Map(this.found.nodes.zone.map((zone) => [String(this.found.nodes.label[zone]), zone]));
      this.pair = new Map();
      this.table.origin.forEach((origin, i) => this.pair.set(origin * this.found.nodes.label.length + this.table.destination[i], i));
      this.routeStart = this._starts(this.table.routes_of_pair);
      this.linkStart = this._starts(this.table.links_of_route);
    }
    _starts(counts) {
      const starts = new Uint32Array(counts.length + 1);
      counts.forEach((count, i) => (starts[i + 1] = starts[i] + count));
      return starts;
    }
    async routes(origin, destination) {
      const { links, nodes } = this.found;
      const pair = this.pair.get(this.node.get(origin) * nodes.label.length + this.node.get(destination));
      if (pair === undefined) throw new Error(`This file contains no routes from ${origin} to ${destination}.`);
      const routes = [];
      for (let i = this.routeStart[pair]; i < this.routeStart[pair + 1]; i++) {
        const used = [...this.table.link.subarray(this.linkStart[i], this.linkStart[i + 1])];
        const sum = (values) => (values === null ? null : used.reduce((total, link) => total + values[link], 0));
        routes.push({
          probability: this.table.probability[i], duration: sum(links.duration),
          duration_free_flow: sum(links.duration_free_flow), distance: sum(links.distance),
          nodes: [nodes.label[links.tail[used[0]]], ...used.map((link) => nodes.label[links.head[link]])],
          links: used.map((link) => links.label[link]),
        });
      }
      return routes;
    }
    async people() {
      return this.found.people;
    }
    // By the routes that are in the file: links of a route, probabilities and, if there is a demand, traffic per hour.
    async linkUse(label) {
      const { links, nodes } = this.found, { table } = this;
      const link = links.label.findIndex((each) => String(each) === label);
      const pairs = [];
      for (let pair = 0; pair < table.origin.length; pair++) {
        let probability = 0;
        for (let i = this.routeStart[pair]; i < this.routeStart[pair + 1]; i++)
          if (table.link.subarray(this.linkStart[i], this.linkStart[i + 1]).includes(link)) probability += table.probability[i];
        if (probability <= 1e-9) continue;
        pairs.push({ origin: nodes.label[table.origin[pair]], destination: nodes.label[table.destination[pair]], probability: Math.min(probability, 1),
          vehicles_per_h: table.rate_per_h ? probability * table.rate_per_h[pair] : null });
      }
      const size = (row) => row.vehicles_per_h ?? row.probability;
      pairs.sort((a, b) => size(b) - size(a));
      return { from_node: nodes.label[links.tail[link]], to_node: nodes.label[links.head[link]], pairs_using: pairs.length, pairs: pairs.slice(0, 50),
        vehicles_per_h: table.rate_per_h ? pairs.reduce((sum, row) => sum + row.vehicles_per_h, 0) : null };
    }
    async sample(_, __, routes) {
      let left = Math.random();
      const at = routes.findIndex((route) => (left -= route.probability) < 0);
      return at < 0 && privroute.shares(routes).rest === null ? routes.length - 1 : at;
    }
  }

  const start = async () => {
    const source = by("embedded-drawing") ? new Embedded() : new Service();
    const drawing = await source.drawing();
    privroute.units = drawing.units;
    if (!drawing.units.roads) withoutStreets(drawing.units);
    const opened = {}; // what happens when a tab is opened
    const open = privroute.tabs((name) => opened[name]?.(), () => map?.mark(null, null));
    let map = null;
    const sheet = by("routes");
    const node = new Map(drawing.nodes.zone.map((zone) => [String(drawing.nodes.label[zone]), zone]));
    const projection = drawing.projection ? new privroute.Projection(drawing.projection) : null;
    const placeNames = new Map(); // what places were called when they were chosen
    const linkOf = new Map(drawing.links.label.map((label, i) => [String(label), i]));
    const chosen = { origin: null, destination: null };
    let shown = null, tally = [];

    const say = (sentence) => (by("said").textContent = sentence);

    map = new privroute.NetworkMap(by("map"), drawing, {
      choose: (zone) => pick(String(drawing.nodes.label[zone])),
      link: (link) => (by("links").hidden ? false : (selectLink(link), true)),
      place: projection && drawing.units.roads ? (at) => pick(placeAt(at)) : null,
      legend: (ofLosses) => (ofLosses ? privroute.showLossLegend(by("legend")) : privroute.showLegend(by("legend"), drawing)),
      describe: ({ zone, link }) => (zone === undefined ? describeLink(link) : describeZone(zone)),
    });

    // A place as the service takes it; a file without a service knows zones only, so it takes the nearest.
    const placeAt = (at, name = "") => {
      if (source instanceof Embedded) {
        const { zone, x, y, label } = drawing.nodes;
        const far = (each) => Math.hypot(x[each] - at[0], y[each] - at[1]);
        return String(label[zone.reduce((best, each) => (far(each) < far(best) ? each : best))]);
      }
      const text = projection.degrees(at).map((value) => value.toFixed(6)).join(",");
      if (name) placeNames.set(text, name);
      return text;
    };
    const endOf = (text) => {
      if (!text) return null;
      if (node.has(text)) return node.get(text);
      if (!isPlace(text) || !projection) return null;
      return { at: projection.place(text.split(",").map(Number)), name: placeNames.get(text) ?? "Place" };
    };

    const describeZone = (zone) => {
      const i = drawing.nodes.zone.indexOf(zone);
      const perHour = drawing.nodes.zone_per_h;
      const lost = map.losses && map.losses[i] !== null ? `\n${privroute.signed(map.losses[i])} for a mean ${drawing.units.request} from here` : "";
      return `Zone ${drawing.nodes.label[zone]}${lost}${perHour ? `\n${drawing.units.roads ? `${words.count(perHour[i])} ${drawing.units.requests} per hour` : `${words.flow(perHour[i])} ${drawing.units.flow}`} start or end here` : ""}`;
    };
    const describeLink = (i) => {
      const { links, nodes } = drawing;
      const lines = [map.shapes.name(i) || `${nodes.label[links.tail[i]]} → ${nodes.label[links.head[i]]}`];
      if (links.volume_per_h) lines.push(`${words.flow(links.volume_per_h[i])} of ${words.flow(links.capacity_per_h[i])} ${drawing.units.flow} (${links.value[i] === null ? "–" : links.value[i].toFixed(2)})`);
      else lines.push(`used by ${words.several(links.value[i], "pair")}`);
      lines.push(`${words.time(links.duration[i])}${links.volume_per_h ? `, ${words.time(links.duration_free_flow[i])} on ${drawing.units.empty}` : ""}`);
      return lines.join("\n");
    };

    const labels = drawing.nodes.zone.map((zone) => String(drawing.nodes.label[zone]));
    const known = new Set(labels);
    const streets = drawing.streets && projection ? drawing.streets.names.filter((name) => name && !known.has(name)).sort() : [];
    const resolved = (text) => {
      if (!text || known.has(text) || isPlace(text)) return text;
      const middle = map.shapes.middle(text);
      return middle ? placeAt(middle, text) : null;
    };
    const fields = Object.fromEntries(["origin", "destination"].map((which) =>
      [which, new privroute.ZoneField(by(which), by(`${which}-list`), labels, (label) => {
        choose({ ...chosen, [which]: resolved(label) });
        if (label && which === "origin" && !chosen.destination) by("destination").focus();
      }, streets)]));
    const shownAs = (text) => placeNames.get(text) ?? text;

    // A click fills what is missing; when both ends are there, it begins anew.
    const pick = (label) => {
      if (!chosen.origin || chosen.destination) choose({ origin: label, destination: null }, false);
      else if (label !== chosen.origin) choose({ ...chosen, destination: label }, false);
    };

    const choose = async ({ origin, destination }, closer = true) => {
      Object.assign(chosen, { origin, destination });
      fields.origin.set(shownAs(origin));
      fields.destination.set(shownAs(destination));
      shown = null;
      tally = [];
      const ends = { origin: endOf(origin), destination: endOf(destination) };
      history.replaceState(null, "", origin && destination ? `#${new URLSearchParams({ origin, destination })}` : location.pathname + location.search);
      map.show([], ends);
      if (!origin || !destination) {
        privroute.showStart(sheet, drawing, (from, to) => choose({ origin: from, destination: to }));
        if (origin) say(`Origin ${shownAs(origin)}. Select a destination.`);
        return;
      }
      open("routes");
      try {
        if (origin === destination) throw new Error("Origin and destination are the same zone. Select two different zones.");
        const routes = await source.routes(origin, destination);
        if (chosen.origin !== origin || chosen.destination !== destination) return;
        shown = { origin, destination, routes };
        if (routes.named) {
          [origin, destination].forEach((text, i) => isPlace(text) && !placeNames.has(text) && placeNames.set(text, routes.named[i]));
          fields.origin.set(shownAs(origin));
          fields.destination.set(shownAs(destination));
          Object.assign(ends, { origin: endOf(origin), destination: endOf(destination) });
        }
        const drawn = routes.map((route) => ({
          ...route, links: route.links.map((label) => linkOf.get(String(label))), legs: legsOf(route.steps ?? []),
        }));
        drawn.forEach((route, i) => (routes[i].streets = map.shapes.names(route.links)));
        map.show(drawn, ends);
        if (drawn.some((route) => route.links.length)) map.reveal(drawn.flatMap((route) => route.links), closer);
        privroute.showRoutes(sheet, drawing, { ...shown, origin: shownAs(origin), destination: shownAs(destination) }, { press, look, sample });
        const { shares, rest } = privroute.shares(routes);
        say(`${words.several(routes.length, "route")} from ${shownAs(origin)} to ${shownAs(destination)}: ${routes.map((route, i) =>
          `${shares[i]} %, ${words.time(route.duration)}`).join("; ")}${rest === null ? "" : `; others ${rest} %`}.`);
      } catch (problem) {
        if (chosen.origin !== origin || chosen.destination !== destination) return;
        privroute.showProblem(sheet, "No routes", problem.message);
        say(problem.message);
      }
    };

    // Lines of the ways from and to places, in units of the drawing.
    const legsOf = (steps) => steps
      .filter(({ part, geometry }) => part !== "route" && geometry)
      .map(({ geometry }) => geometry.coordinates.map((point) => projection.place(point)));

    let pressed = null;
    const mark = (i) => {
      pressed = i;
      sheet.querySelectorAll(".choice").forEach((choice, j) => choice.setAttribute("aria-pressed", String(j === i)));
    };
    const press = (i) => {
      mark(pressed === i ? null : i);
      map.emphasise(pressed);
    };
    const look = (i) => {
      if (!map.vehicle) map.emphasise(i ?? pressed);
    };
    const sample = async () => {
      const { origin, destination, routes } = shown;
      const i = await source.sample(origin, destination, routes).catch((problem) => {
        if (shown && shown.routes === routes) by("drawn-count").textContent = problem.message;
        say(problem.message);
        return -1;
      });
      if (!shown || shown.routes !== routes) return;
      if (i < 0) {
        by("drawn-count").textContent = by("drawn-count").textContent || "Sampled: a route that is not listed.";
        return;
      }
      tally.push(i);
      mark(i);
      const choice = sheet.querySelectorAll(".choice")[i];
      choice.classList.remove("drawn");
      void choice.offsetWidth;
      choice.classList.add("drawn");
      map.drive(i);
      const times = routes.map((_, j) => tally.filter((each) => each === j).length);
      by("drawn-count").dataset.draws = tally.length;
      by("drawn-count").textContent = routes.length === 1 ? "Route 1 (the only route)." : `Sampled: route ${i + 1}.  ${tally.length > 1 ? `Total: ${times.map((each, j) => `${each} × ${j + 1}`).join(", ")}.` : ""}`;
      say(`Sampled: route ${i + 1} of ${routes.length}, ${words.time(routes[i].duration)}.`);
    };

    by("swap").addEventListener("click", () => choose({ origin: chosen.destination, destination: chosen.origin }));
    by("ends").addEventListener("submit", (event) => event.preventDefault());
    by("zoom-in").addEventListener("click", () => map.zoom(1.4));
    by("zoom-out").addEventListener("click", () => map.zoom(1 / 1.4));
    by("zoom-fit").addEventListener("click", () => map.fit());
    themes(map);
    verdict(drawing, () => open("guarantee"));
    const listLinks = () => {
      map.mark(null, null);
      privroute.showLinks(by("links"), drawing, (link) => selectLink(link));
    };
    const selectLink = async (link) => {
      open("links");
      try {
        const found = await source.linkUse(String(drawing.links.label[link]));
        map.mark(link, null);
        privroute.showLinkUse(by("links"), found, (from, to) => choose({ origin: from, destination: to }), listLinks);
        by("link-title").tabIndex = -1;
        by("link-title").focus();
        say(`Link ${found.from_node} to ${found.to_node}, used by ${words.several(found.pairs_using, "pair")}.`);
      } catch (problem) {
        privroute.showProblem(by("links"), "This link cannot be shown", problem.message);
      }
    };
    let people;
    opened.people = async () => {
      if (people === undefined) {
        privroute.showProblem(by("people"), "Who gains, who loses", "Computing …");
        try {
          people = await source.people();
        } catch (problem) {
          privroute.showProblem(by("people"), "Gains and losses cannot be shown", problem.message);
          return;
        }
        privroute.showPeople(by("people"), drawing, people, (from, to) => choose({ origin: from, destination: to }));
        say("Gains and losses are shown.");
      }
      if (people && people.zone_loss_min && !by("people").hidden) map.mark(null, people.zone_loss_min);
    };
    const showAll = () => {
      privroute.showFacts(drawing);
      privroute.showMeasured(by("measured"), drawing);
      privroute.showGuarantee(by("guarantee"), drawing);
      listLinks();
      privroute.showLegend(by("legend"), drawing);
    };
    showAll();
    // Another time of day: colours, tables and routes are those of its policy. Of quick changes the last one counts.
    let wanted = drawing.period;
    const turnTo = async (at) => {
      wanted = at;
      try {
        const found = await source.period(at, drawing.periods[at]);
        if (wanted !== at) return;
        const { nodes, links, ...rest } = found;
        Object.assign(drawing.nodes, nodes);
        Object.assign(drawing.links, links);
        Object.assign(drawing, rest);
        map.recolour(drawing);
        people = undefined;
        showAll();
        if (!by("people").hidden) await opened.people();
        await choose({ ...chosen }, false);
        document.documentElement.dataset.period = String(at);
      } catch (problem) {
        privroute.showProblem(sheet, "No policy", problem.message);
        say(problem.message);
      }
    };
    if (drawing.periods) new privroute.DayChooser(by("day"), drawing, turnTo);
    const named = new URLSearchParams(location.hash.slice(1));
    const ofHash = (which) => {
      const text = named.get(which);
      return known.has(text) || (projection && isPlace(text) && !(source instanceof Embedded)) ? text : null;
    };
    await choose({ origin: ofHash("origin"), destination: ofHash("destination") });
    document.documentElement.dataset.ready = "true";
  };

  // The page's own texts speak of streets and trips.
  const withoutStreets = ({ request }) => {
    for (const which of ["origin", "destination"]) {
      by(which).placeholder = "Zone, or click the map";
      by(`${which}-list`).setAttribute("aria-label", "Zones");
    }
    by("day").setAttribute("aria-label", `When the ${request} starts`);
  };

  const verdict = (drawing, show) => {
    const { certificate, words: said } = drawing;
    const button = by("verdict");
    button.textContent = certificate.private ? `Private · ε ${certificate.epsilon}` : "Not private";
    button.classList.toggle("bad", !certificate.private);
    button.hidden = false;
    button.addEventListener("click", () => {
      show();
      document.querySelector(".panel").scrollTop = 0;
      if (matchMedia("(max-width: 820px)").matches) document.querySelector(".tabs").scrollIntoView();
    });
    by("banner").hidden = certificate.private;
    if (!certificate.private) by("banner").textContent = said.verdict;
  };

  const themes = (map) => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let own = null;
    try { own = localStorage.getItem("privroute-theme"); } catch { /* a file may have no storage */ }
    const apply = () => {
      const now = own ?? (dark.matches ? "dark" : "light");
      document.documentElement.dataset.theme = now;
      by("theme").setAttribute("aria-pressed", String(now === "dark"));
      map.repaint();
    };
    by("theme").addEventListener("click", () => {
      own = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("privroute-theme", own); } catch { /* it holds for this visit */ }
      apply();
    });
    dark.addEventListener("change", apply);
    apply();
  };

  start().catch((problem) => {
    document.querySelector(".panel").prepend(element("p", { class: "banner", role: "alert" }, `Could not load the page: ${problem.message}`));
    throw problem;
  });
})();
