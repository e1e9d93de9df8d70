"use strict";
// The sheet People (who gains, who loses, what if only some follow) and, for a chosen link, the pairs that use it.
window.privroute = window.privroute || {};

privroute.lossClass = (minutes) => {
  if (minutes === null) return "loss-none";
  const size = Math.abs(minutes) < 0.1 ? 0 : Math.abs(minutes) < 1 ? 1 : 2;
  return size === 0 ? "loss-even" : `${minutes > 0 ? "loss" : "gain"}-${size}`;
};

privroute.signed = (minutes) => `${minutes > 0 ? "+" : minutes < 0 ? "−" : ""}${Math.abs(minutes).toFixed(2)} min`;

privroute.showLossLegend = (place) => {
  const { element } = privroute;
  const classes = [["gain-2", "gain > 1"], ["gain-1", "gain"], ["loss-even", "< 0.1"], ["loss-1", "lose"], ["loss-2", "lose > 1"]];
  place.replaceChildren(
    element("p", {}, "Mean minutes of trips from a zone"),
    element("ol", { class: "scale named", "aria-label": "Colours from gain to loss" }, ...classes.map(([colour, text]) => element("li", { colour }, element("span", {}, text)))),
  );
};

privroute.showPeople = (sheet, drawing, people, choose) => {
  const { element, words, signed } = privroute;
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
      ...people.limits_min.map((limit) => element("td", {}, percent(found.share_losing[String(limit)])))));
  const table = (caption, columns, rows) => element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows));
  const least = Math.min(...people.compliance.map((row) => row.total_travel_time));
  const distances = people.by_distance.map((row) => element("tr", {},
    element("td", {}, `${row.from_min.toFixed(0)} to ${row.to_min.toFixed(0)} min`), element("td", {}, `${row.mean_min.toFixed(1)} min`),
    element("td", {}, signed(row.mean_loss_min)), element("td", {}, percent(row.share_losing[0]))));
  const worst = people.worst.map((row) => element("tr", {},
    element("td", {}, element("button", { type: "button", class: "text-button", onclick: () => choose(String(row.origin), String(row.destination)) }, `${row.origin} → ${row.destination}`)),
    element("td", {}, words.count(row.trips_per_h)), element("td", {}, `${row.policy_min.toFixed(1)} min`), element("td", {}, signed(row.loss_min))));
  const compliance = people.compliance.map((row) => element("tr", {},
    element("td", {}, `${(row.share * 100).toFixed(0)} %`), element("td", {}, `${row.mean_min.toFixed(2)} min`),
    element("td", {}, `+${((row.total_travel_time / least - 1) * 100).toFixed(2)} %`),
    element("td", {}, `${row.followers_min.toFixed(2)} / ${row.others_min.toFixed(2)}`)));
  sheet.replaceChildren(
    element("h2", {}, "Who gains, who loses"),
    element("p", { class: "soft" }, `If all trips of the released demand follow the policy, a trip takes ${people.mean_min.toFixed(2)} min on average. The map shows zones by the mean minutes that their trips gain (blue) or lose (orange) against the equilibrium.`),
    table("Time on the policy", ["Longer (+) or shorter (−)", "Mean", ...people.limits_min.map((limit) => `Lose > ${limit} min`)], comparison),
    element("h3", {}, "By length of the trip"),
    table("Against the equilibrium; a fifth of the trips in each row", ["On empty roads", "Time", "Mean", `Lose > ${people.limits_min[0]} min`], distances),
    element("h3", {}, "Pairs that lose most"),
    table("Against the equilibrium", ["Pair", "Trips / h", "Time", "Loss"], worst),
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
    ...(busy ? [element("td", {}, words.count(row.vehicles_per_h))] : [])));
  const more = found.pairs_using - found.pairs.length;
  place.replaceChildren(
    element("h2", { id: "link-title" }, `Link ${found.from_node} → ${found.to_node}`),
    element("p", { class: "soft" }, `Used by ${words.several(found.pairs_using, "pair")}${busy ? ` with ${words.count(found.vehicles_per_h)} vehicles per hour` : ""}.`),
    element("table", {}, element("caption", {}, busy ? "Pairs by their traffic on this link" : "Pairs by their probability to use this link"),
      element("thead", {}, element("tr", {}, ...["Pair", "Share of its trips", ...(busy ? ["Vehicles / h"] : [])].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows)),
    ...(more > 0 ? [element("p", { class: "soft" }, `And ${words.several(more, "other pair")}.`)] : []),
    element("button", { type: "button", class: "action", id: "link-close", onclick: close }, "Show all links"),
  );
};
