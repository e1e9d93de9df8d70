"use strict";
// Ties the map, the fields and the sheets together. Data come from the service, or from the file itself in a report.
(() => {
  const { element, words } = privroute;
  const by = (id) => document.getElementById(id);

  class Service {
    async drawing() {
      const found = await (await fetch("page/drawing.json")).json();
      this.release = found.release;
      return found;
    }
    async _ask(what, origin, destination, more) {
      const query = new URLSearchParams({ origin, destination, ...more });
      const answer = await fetch(`v1/${what}?${query}`);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.message);
      return found.routes;
    }
    routes(origin, destination) {
      return this._ask("routes", origin, destination, { release: this.release });
    }
    async sample(origin, destination, routes) {
      const [drawn] = await this._ask("sample", origin, destination, {});
      return routes.findIndex((route) => String(route.links) === String(drawn.links));
    }
  }

  // Routes as typed arrays, packed into the file: pairs, where their routes start, probabilities, links.
  class Embedded {
    async drawing() {
      this.found = JSON.parse(by("embedded-drawing").textContent);
      const packed = Uint8Array.from(atob(by("embedded-routes").textContent.trim()), (sign) => sign.charCodeAt(0));
      const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const bytes = await new Response(unpacked).arrayBuffer();
      const kinds = { u2: Uint16Array, u4: Uint32Array, f8: Float64Array, u1: Uint8Array };
      this.table = {};
      for (const { name, kind, at, count } of this.found.embedded) this.table[name] = new kinds[kind](bytes, at, count);
      this.node = new Map(this.found.nodes.label.map((label, i) => [String(label), i]));
      this.pair = new Map();
      this.table.origin.forEach((origin, i) => this.pair.set(origin * this.found.nodes.label.length + this.table.destination[i], i));
      this.routeStart = this._starts(this.table.routes_of_pair);
      this.linkStart = this._starts(this.table.links_of_route);
      return this.found;
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
    async sample(_, __, routes) {
      let left = Math.random() * routes.reduce((sum, route) => sum + route.probability, 0);
      const at = routes.findIndex((route) => (left -= route.probability) < 0);
      return at < 0 ? routes.length - 1 : at;
    }
  }

  const start = async () => {
    const source = by("embedded-drawing") ? new Embedded() : new Service();
    const drawing = await source.drawing();
    const open = privroute.tabs();
    const sheet = by("routes");
    const node = new Map(drawing.nodes.label.map((label, i) => [String(label), i]));
    const linkOf = new Map(drawing.links.label.map((label, i) => [String(label), i]));
    const chosen = { origin: null, destination: null };
    let shown = null, tally = [];

    const say = (sentence) => (by("said").textContent = sentence);

    const map = new privroute.NetworkMap(by("map"), drawing, {
      choose: (zone) => pick(String(drawing.nodes.label[zone])),
      describe: ({ zone, link }) => (zone === undefined ? describeLink(link) : describeZone(zone)),
    });

    const describeZone = (zone) => {
      const i = drawing.nodes.zone.indexOf(zone);
      const perHour = drawing.nodes.zone_per_h;
      return `Zone ${drawing.nodes.label[zone]}${perHour ? `\n${words.count(perHour[i])} trips per hour start or end here` : ""}`;
    };
    const describeLink = (i) => {
      const { links, nodes } = drawing;
      const lines = [`${nodes.label[links.tail[i]]} → ${nodes.label[links.head[i]]}`];
      if (links.volume_per_h) lines.push(`${words.count(links.volume_per_h[i])} of ${words.count(links.capacity_per_h[i])} vehicles per hour (${links.value[i] === null ? "–" : links.value[i].toFixed(2)})`);
      else lines.push(`used by ${words.several(links.value[i], "pair")}`);
      lines.push(`${words.minutes(links.duration[i])}${links.volume_per_h ? `, ${words.minutes(links.duration_free_flow[i])} on empty roads` : ""}`);
      return lines.join("\n");
    };

    const labels = drawing.nodes.zone.map((zone) => String(drawing.nodes.label[zone]));
    const fields = Object.fromEntries(["origin", "destination"].map((which) =>
      [which, new privroute.ZoneField(by(which), by(`${which}-list`), labels, (label) => {
        choose({ ...chosen, [which]: label });
        if (label && which === "origin" && !chosen.destination) by("destination").focus();
      })]));

    // A click fills what is missing; when both ends are there, it begins anew.
    const pick = (label) => {
      if (!chosen.origin || chosen.destination) choose({ origin: label, destination: null }, false);
      else if (label !== chosen.origin) choose({ ...chosen, destination: label }, false);
    };

    const choose = async ({ origin, destination }, closer = true) => {
      Object.assign(chosen, { origin, destination });
      fields.origin.set(origin);
      fields.destination.set(destination);
      shown = null;
      tally = [];
      const ends = { origin: node.get(origin) ?? null, destination: node.get(destination) ?? null };
      history.replaceState(null, "", origin && destination ? `#${new URLSearchParams({ origin, destination })}` : location.pathname + location.search);
      map.show([], ends);
      if (!origin || !destination) {
        privroute.showStart(sheet, drawing, (from, to) => choose({ origin: from, destination: to }));
        if (origin) say(`Origin ${origin}. Select a destination.`);
        return;
      }
      open("routes");
      try {
        if (origin === destination) throw new Error("Origin and destination are the same zone. Select two different zones.");
        const routes = await source.routes(origin, destination);
        if (chosen.origin !== origin || chosen.destination !== destination) return;
        shown = { origin, destination, routes };
        const drawn = routes.map((route) => ({ ...route, links: route.links.map((label) => linkOf.get(String(label))) }));
        map.show(drawn, ends);
        map.reveal(drawn.flatMap((route) => route.links), closer);
        privroute.showRoutes(sheet, drawing, shown, { press, look, sample });
        say(`${words.several(routes.length, "route")} from ${origin} to ${destination}: ${routes.map((route, i) =>
          `${privroute.percentages(routes.map((each) => each.probability))[i]} %, ${words.minutes(route.duration)}`).join("; ")}.`);
      } catch (problem) {
        if (chosen.origin !== origin || chosen.destination !== destination) return;
        privroute.showProblem(sheet, "No routes", problem.message);
        say(problem.message);
      }
    };

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
      if (!shown || shown.routes !== routes || i < 0) return;
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
      say(`Sampled: route ${i + 1} of ${routes.length}, ${words.minutes(routes[i].duration)}.`);
    };

    by("swap").addEventListener("click", () => choose({ origin: chosen.destination, destination: chosen.origin }));
    by("ends").addEventListener("submit", (event) => event.preventDefault());
    by("zoom-in").addEventListener("click", () => map.zoom(1.4));
    by("zoom-out").addEventListener("click", () => map.zoom(1 / 1.4));
    by("zoom-fit").addEventListener("click", () => map.fit());
    themes(map);
    verdict(drawing, () => open("guarantee"));
    privroute.showFacts(drawing);
    privroute.showGuarantee(by("guarantee"), drawing);
    privroute.showLinks(by("links"), drawing);
    privroute.showLegend(by("legend"), drawing);
    const named = new URLSearchParams(location.hash.slice(1));
    const ofHash = (which) => (labels.includes(named.get(which)) ? named.get(which) : null);
    await choose({ origin: ofHash("origin"), destination: ofHash("destination") });
    document.documentElement.dataset.ready = "true";
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
