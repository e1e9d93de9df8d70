"use strict";
// The sheet People (who gains, who loses, what if only some follow) and, for a chosen link, the pairs that use it.
window.privroute = window.privroute || {};

// Losses come in minutes and are shown in the release's unit of time.
privroute.shownTime = (minutes) => minutes * privroute.units.time_per_min;

privroute.lossClass = (minutes) => {
  if (minutes === null) return "loss-none";
  const lost = Math.abs(privroute.shownTime(minutes));
  const size = lost < 0.1 ? 0 : lost < 1 ? 1 : 2;
  return size === 0 ? "loss-even" : `${minutes > 0 ? "loss" : "gain"}-${size}`;
};

privroute.signed = (minutes) => `${minutes > 0 ? "+" : minutes < 0 ? "−" : ""}${Math.abs(privroute.shownTime(minutes)).toFixed(2)} ${privroute.units.time}`;

privroute.showLossLegend = (place) => {
  const { element } = privroute;
  const classes = [["gain-2", "gain > 1"], ["gain-1", "gain"], ["loss-even", "< 0.1"], ["loss-1", "lose"], ["loss-2", "lose > 1"]];
  place.replaceChildren(
    element("p", {}, `Mean ${privroute.units.times} of ${privroute.units.requests} from a zone`),
    element("ol", { class: "scale named", "aria-label": "Colours from gain to loss" }, ...classes.map(([colour, text]) => element("li", { colour }, element("span", {}, text)))),
  );
};

privroute.showPeople = (sheet, drawing, people, choose) => {
  const { element, words, signed } = privroute;
  const { request, requests, time, times, empty } = drawing.units;
  const shown = (minutes, digits) => `${privroute.shownTime(minutes).toFixed(digits)} ${time}`;
  if (people === null) {
    privroute.showProblem(sheet, "Who gains, who loses", "This release has no demand, so gains and losses are not known.");
    return;
  }
  if (people.skipped) {
    privroute.showProblem(sheet, "Who gains, who loses", people.skipped);
    return;
  }
  const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.001 ? 2 : 1)} %`;
  const { fastest, equilibrium } = people.against;
  const comparison = [["than without advice (equilibrium)", equilibrium], ["than the fastest route of the moment", fastest]].map(([name, found]) =>
    element("tr", {}, element("td", {}, name), element("td", {}, signed(found.mean_loss_min)),
      ...people.limits.map((limit) => element("td", {}, percent(found.share_losing[String(limit)])))));
  const table = (caption, columns, rows) => element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows));
  const least = Math.min(...people.compliance.map((row) => row.total_travel_time));
  const distances = people.by_distance.map((row) => element("tr", {},
    element("td", {}, `${privroute.shownTime(row.from_min).toFixed(0)} to ${shown(row.to_min, 0)}`), element("td", {}, shown(row.mean_min, 1)),
    element("td", {}, signed(row.mean_loss_min)), element("td", {}, percent(row.share_losing[0]))));
  const worst = people.worst.map((row) => element("tr", {},
    element("td", {}, element("button", { type: "button", class: "text-button", onclick: () => choose(String(row.origin), String(row.destination)) }, `${row.origin} → ${row.destination}`)),
    element("td", {}, words.flow(row.trips_per_h)), element("td", {}, shown(row.policy_min, 1)), element("td", {}, signed(row.loss_min))));
  const compliance = people.compliance.map((row) => element("tr", {},
    element("td", {}, `${(row.share * 100).toFixed(0)} %`), element("td", {}, shown(row.mean_min, 2)),
    element("td", {}, `+${((row.total_travel_time / least - 1) * 100).toFixed(2)} %`),
    element("td", {}, `${privroute.shownTime(row.followers_min).toFixed(2)} / ${privroute.shownTime(row.others_min).toFixed(2)}`)));
  sheet.replaceChildren(
    element("h2", {}, "Who gains, who loses"),
    element("p", { class: "soft" }, `If all ${requests} of the released demand follow the policy, a ${request} takes ${shown(people.mean_min, 2)} on average. The map shows zones by the mean ${times} that their ${requests} gain (blue) or lose (orange) against the equilibrium.`),
    table("Time on the policy", ["Longer (+) or shorter (−)", "Mean", ...people.limits.map((limit) => `Lose > ${limit} ${time}`)], comparison),
    element("h3", {}, drawing.units.roads ? `By length of the ${request}` : `By ${drawing.units.delay} on ${empty}`),
    table(drawing.units.roads ? `Against the equilibrium; a fifth of the ${requests} in each row` : "Against the equilibrium; a fifth of the traffic in each row", [`On ${empty}`, "Time", "Mean", `Lose > ${people.limits[0]} ${time}`], distances),
    element("h3", {}, "Pairs that lose most"),
    table("Against the equilibrium", ["Pair", drawing.units.hourly ? `${privroute.begin(requests)} / h` : drawing.units.flow, "Time", "Loss"], worst),
    element("h3", {}, "If only some follow"),
    table("The others choose the fastest route for themselves", ["Follow", "Mean", "Total", "Followers / others"], compliance),
  );
};

privroute.showLinkUse = (place, found, choose, close) => {
  const { element, words } = privroute;
  const busy = found.vehicles_per_h !== null;
  const rows = found.pairs.map((row) => element("tr", {},
    element("td", {}, element("button", { type: "button", class: "text-button", onclick: () => choose(String(row.origin), String(row.destination)) }, `${row.origin} → ${row.destination}`)),
    element("td", {}, `${(row.probability * 100).toFixed(row.probability < 0.001 ? 2 : 1)} %`),
    ...(busy ? [element("td", {}, words.flow(row.vehicles_per_h))] : [])));
  const more = found.pairs_using - found.pairs.length;
  place.replaceChildren(
    element("h2", { id: "link-title" }, `Link ${found.from_node} → ${found.to_node}`),
    element("p", { class: "soft" }, `Used by ${words.several(found.pairs_using, "pair")}${busy ? ` with ${words.flow(found.vehicles_per_h)} ${privroute.units.flow}` : ""}.`),
    element("table", {}, element("caption", {}, busy ? "Pairs by their traffic on this link" : "Pairs by their probability to use this link"),
      element("thead", {}, element("tr", {}, ...["Pair", `Share of its ${privroute.units.requests}`, ...(busy ? [words.flowColumn()] : [])].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows)),
    ...(more > 0 ? [element("p", { class: "soft" }, `And ${words.several(more, "other pair")}.`)] : []),
    element("button", { type: "button", class: "action", id: "link-close", onclick: close }, "Show all links"),
  );
};
