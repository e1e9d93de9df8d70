"use strict";
// What stands beside the map: alternatives with bars, the certificate in words, the busiest links, the legend.
window.privroute = window.privroute || {};

privroute.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "colour") made.style.setProperty("--of", `var(--${value})`);
    else if (name === "width") made.style.width = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

privroute.words = {
  count: (value) => Math.round(value).toLocaleString("en"),
  // A flow given per hour, in the release's unit: whole vehicles, four digits of other amounts.
  flow: (perHour) => {
    const { flow_per_h: factor, hourly } = privroute.units;
    return hourly ? privroute.words.count(perHour * factor) : (perHour * factor).toLocaleString("en", { maximumSignificantDigits: 4 });
  },
  flowColumn: () => privroute.begin(privroute.units.flow.replace(" per hour", " / h")),
  time: (seconds) => {
    const { time, time_per_min: factor } = privroute.units;
    return seconds === null ? `– ${time}` : `${((seconds / 60) * factor).toFixed(time === "min" ? 1 : 2)} ${time}`;
  },
  kilometres: (metres) => (metres === null ? null : `${(metres / 1000).toFixed(metres < 9950 ? 1 : 0)} km`),
  several: (number, noun) => `${privroute.words.count(number)} ${noun}${number === 1 ? "" : "s"}`,
};

privroute.begin = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Percentages with one decimal that sum to exactly 100: the largest remainders are rounded up.
privroute.percentages = (probabilities) => {
  const total = probabilities.reduce((sum, each) => sum + each, 0) || 1;
  const exact = probabilities.map((each) => (each / total) * 1000);
  const parts = exact.map(Math.floor);
  const order = exact.map((_, i) => i).sort((a, b) => (exact[b] - parts[b]) - (exact[a] - parts[a]));
  const missing = Math.round(1000 - parts.reduce((sum, each) => sum + each, 0));
  for (const i of order.slice(0, missing)) parts[i] += 1;
  return parts.map((part, i) => (part === 0 && probabilities[i] > 0 ? "< 0.1" : part === 1000 ? "100" : (part / 10).toFixed(1)));
};

// Percentages of the listed routes, and of all others together; null where all are listed.
privroute.shares = (routes) => {
  const probabilities = routes.map((route) => route.probability);
  const rest = 1 - probabilities.reduce((sum, each) => sum + each, 0);
  if (rest < 1e-6) return { shares: privroute.percentages(probabilities), rest: null };
  const all = privroute.percentages([...probabilities, rest]);
  return { shares: all.slice(0, -1), rest: all[all.length - 1] };
};

privroute.showFacts = (drawing) => {
  const { flow, several } = privroute.words;
  document.getElementById("facts").textContent = [
    several(drawing.nodes.zone.length, "zone"), several(drawing.links.tail.length, "link"),
    several(drawing.pairs, "pair"), several(drawing.routes, "route"),
    ...(drawing.vehicles_per_h === null ? [] : [`${flow(drawing.vehicles_per_h)} ${drawing.units.flow}`]),
  ].join("  ·  ");
};

// One line that is always there: how useful the policy of the shown period was measured to be.
privroute.showMeasured = (place, { verdict, worse }) => {
  place.textContent = `Usefulness · ${verdict}`;
  place.classList.toggle("bad", worse);
};

privroute.showStart = (sheet, drawing, choose) => {
  const { element, words } = privroute;
  const [origin, destination] = drawing.example.map(String);
  const numbers = [
    ["Pairs with routes", words.count(drawing.pairs)],
    ["Routes per pair", (drawing.routes / Math.max(drawing.pairs, 1)).toFixed(2)],
    ...(drawing.vehicles_per_h === null ? [] : [[privroute.begin(drawing.units.flow), words.flow(drawing.vehicles_per_h)]]),
    ...(drawing.coloured_by === "volume_over_capacity"
      ? [["Links over capacity", words.count(drawing.links.value.filter((value) => value === null || value > 1).length)]]
      : []),
  ];
  sheet.replaceChildren(
    element("h2", {}, "Select a route"),
    element("p", { id: "hours" }, `For ${drawing.hours}.`),
    element("p", { class: "soft" },
      drawing.streets
        ? "Click two places on the map, or type zones or streets. The policy"
        : "Select two zones on the map, or type their labels. The policy",
      drawing.certificate.options && drawing.certificate.options.fairness > 0
        ? `  spreads the ${drawing.units.requests} of each pair over routes, a compromise between the least total ${drawing.units.delay} and equal times on all of them (fairness ${drawing.certificate.options.fairness}).`
        : `  spreads the ${drawing.units.requests} of each pair over routes so that the total ${drawing.units.delay} is as small as possible.`),
    ...(drawing.pairs
      ? [element("p", {}, "Example: ",
          element("button", { type: "button", class: "text-button", id: "example", onclick: () => choose(origin, destination) }, `${origin} → ${destination}`))]
      : []),
    ...(drawing.embedded_pairs !== undefined && drawing.embedded_pairs < drawing.pairs
      ? [element("p", { class: "soft" }, `This file contains the routes of ${words.count(drawing.embedded_pairs)} of ${words.count(drawing.pairs)} pairs, those with the largest demand.`)]
      : []),
    element("dl", { class: "numbers" }, ...numbers.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
  );
};

privroute.showProblem = (sheet, title, sentence) => {
  sheet.replaceChildren(privroute.element("h2", {}, title), privroute.element("p", { class: "soft" }, sentence));
};

privroute.showRoutes = (sheet, drawing, found, listeners) => {
  const { element, words } = privroute;
  const { origin, destination, routes } = found;
  const { shares, rest } = privroute.shares(routes);
  const longest = Math.max(...routes.map((route) => route.duration ?? 0), 1e-9);
  const busy = drawing.coloured_by === "volume_over_capacity";
  const listed = routes.reduce((sum, route) => sum + route.probability, 0) || 1;
  const mean = routes.reduce((sum, route) => sum + route.probability * route.duration, 0) / listed;
  const at = busy ? " at the released demand" : ` on ${drawing.units.empty}`;
  const choices = routes.map((route, i) => {
    const colour = i < privroute.LANES ? `route-${i}` : "ink-soft";
    const details = [words.kilometres(route.distance), words.several(route.links.length, "link"),
      busy ? `${words.time(route.duration_free_flow)} on ${drawing.units.empty}` : null].filter(Boolean).join(" · ");
    const via = route.streets && route.streets.length ? privroute.via(["", ...route.streets, ""]) : privroute.via(route.nodes);
    const said = `Route ${i + 1}: ${shares[i]} %, ${words.time(route.duration)}, ${details}, by ${via}`;
    return element("li", {}, element("button", {
      type: "button", class: "choice", colour, "aria-pressed": "false", "aria-label": said,
      "data-probability": route.probability, onclick: () => listeners.press(i),
      onpointerenter: () => listeners.look(i), onpointerleave: () => listeners.look(null),
    },
    element("span", { class: "measure" },
      element("span", { class: "badge" }, String(i + 1)), element("strong", { class: "share" }, `${shares[i]} %`),
      element("span", { class: "track" }, element("span", { class: "fill", width: `${route.probability * 100}%` }))),
    element("span", { class: "measure" },
      element("span"), element("span", { class: "minutes" }, words.time(route.duration)),
      element("span", { class: "track thin" },
        element("span", { class: "fill", width: `${((route.duration ?? 0) / longest) * 100}%` },
          element("span", { class: "empty", width: `${(route.duration_free_flow / route.duration) * 100}%` })))),
    element("span", { class: "via" }, details),
    element("span", { class: "via" }, `via ${via}`)));
  });
  sheet.replaceChildren(
    element("h2", { id: "routes-title" }, `${origin} → ${destination}`),
    element("p", { class: "soft", id: "spread" }, rest !== null
      ? `The ${words.several(routes.length, "most probable route")}, ${words.time(mean)} on average${at}. Other routes have ${rest} % together.`
      : routes.length === 1
        ? `All ${drawing.units.requests} take the same route, ${words.time(mean)}${at}.`
        : `${privroute.begin(drawing.units.requests)} are spread over ${routes.length} routes, ${words.time(mean)} on average${at}.`),
    element("ul", { class: "choices", "aria-label": "Routes, the most probable first" }, ...choices),
    element("button", { type: "button", class: "action", id: "sample", onclick: listeners.sample }, "Sample a route"),
    element("p", { class: "drawn-count", id: "drawn-count" }),
  );
};

privroute.via = (nodes) => {
  const inner = nodes.slice(1, -1);
  if (!inner.length) return "the direct link";
  return inner.length <= 9 ? inner.join(", ") : `${inner.slice(0, 4).join(", ")} … ${inner.slice(-4).join(", ")}`;
};

privroute.showGuarantee = (sheet, drawing) => {
  const { element } = privroute;
  const { words, certificate } = drawing;
  const section = (title, sentences, kind = "") => sentences.length
    ? [element("h3", {}, title), element("ul", { class: `says ${kind}` }, ...sentences.map((sentence) => element("li", {}, sentence)))]
    : [];
  const stamp = element("p", { class: certificate.private ? "stamp" : "stamp bad" }, words.verdict);
  sheet.replaceChildren(
    element("h2", {}, "What this release protects"), stamp,
    ...section("How useful it is", drawing.useful),
    ...words.sections.flatMap(({ title, sentences, mark }) => section(title, sentences, mark)),
  );
};

privroute.showLinks = (sheet, drawing, select) => {
  const { element, words } = privroute;
  const { links, nodes } = drawing;
  const busy = drawing.coloured_by === "volume_over_capacity";
  const breaks = privroute.breaksFor(drawing);
  const value = (i) => links.value[i] ?? Infinity;
  const hidden = new Set(drawing.streets ? drawing.streets.hidden : []);
  const order = links.value.map((_, i) => i).filter((i) => !hidden.has(i)).sort((a, b) => value(b) - value(a)).slice(0, 20);
  const shapes = new privroute.Shapes(drawing);
  const ends = shapes.crossings();
  const linkName = (i) => {
    const way = [links.tail[i], links.head[i]].map((node, end) => ends(i, end) || `node ${nodes.label[node]}`).join(" → ");
    const name = shapes.name(i);
    return name ? [name, element("span", { class: "between" }, way)] : [`${nodes.label[links.tail[i]]} → ${nodes.label[links.head[i]]}`];
  };
  const rows = order.map((i) => element("tr", {},
    element("td", {}, element("span", { class: "swatch", colour: `class-${privroute.classOf(links.value[i], breaks)}` }),
      element("button", { type: "button", class: "text-button", "data-link": i, onclick: () => select(i) }, ...linkName(i))),
    ...(busy
      ? [element("td", {}, words.flow(links.volume_per_h[i])), element("td", {}, words.flow(links.capacity_per_h[i])),
        element("td", {}, links.value[i] === null ? "–" : links.value[i].toFixed(2))]
      : [element("td", {}, words.count(links.value[i]))])));
  const columns = busy ? ["Link", words.flowColumn(), drawing.units.hourly ? "Capacity / h" : "Capacity", "Ratio"] : ["Link", "Pairs"];
  sheet.replaceChildren(
    element("h2", {}, busy ? "Links with the highest volume / capacity" : "Most used links"),
    element("p", { class: "soft" }, "Click a link, here or on the map, to see which pairs use it."),
    element("table", {},
      element("caption", {}, busy ? "Expected volumes when the released demand follows the policy." : "Number of pairs with a route over the link."),
      element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows)),
  );
};

privroute.showLegend = (place, drawing) => {
  const { element } = privroute;
  const busy = drawing.coloured_by === "volume_over_capacity";
  const breaks = privroute.breaksFor(drawing);
  const short = (value) => (value >= 10000 ? `${Math.round(value / 1000)}k` : value >= 1000 ? `${(value / 1000).toFixed(1)}k` : String(value));
  const steps = [...Array(breaks.length + 1).keys()].map((i) =>
    element("li", { colour: `class-${i}` }, element("span", {}, i ? short(breaks[i - 1]) : "")));
  place.replaceChildren(
    element("p", {}, busy ? "Expected volume / capacity" : "Pairs that use a link"),
    element("ol", { class: "scale", "aria-label": `Colours change at ${breaks.join(", ")}` }, ...steps),
    ...(drawing.nodes.computed
      ? [element("small", {}, "The network has no coordinates: the layout is computed from its links.")]
      : []),
  );
};

// opened : called with the name of a tab that the user opens; left : when any tab is opened
privroute.tabs = (opened = () => {}, left = () => {}) => {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const open = (tab, focus = false) => {
    for (const each of tabs) {
      each.setAttribute("aria-selected", String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = each !== tab;
    }
    left();
    opened(tab.id.slice("tab-".length));
    if (focus) tab.focus();
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open(tabs[(to + tabs.length) % tabs.length], true);
    });
  });
  return (name) => open(document.getElementById(`tab-${name}`));
};
