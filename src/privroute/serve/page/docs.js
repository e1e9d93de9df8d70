"use strict";
// The OpenAPI description as a page, without anything from elsewhere.
(() => {
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.dataset.theme = "dark";

  const element = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const marked = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
  const paragraphs = (text) => (text || "").split(/\n\n+/).map((part) => element("p", {}, ...marked(part.replaceAll("\n", " "))));
  const follow = (description, schema) => (schema && schema.$ref ? description.components.schemas[schema.$ref.split("/").at(-1)] : schema || {});
  const kind = (schema) => {
    if (!schema) return "";
    if (schema.$ref) return schema.$ref.split("/").at(-1);
    if (schema.anyOf) return schema.anyOf.map((each) => kind(each)).join(" or ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
    if (schema.type === "array") {
      const of = schema.prefixItems ? `[${schema.prefixItems.map((each) => kind(each)).join(", ")}]` : kind(schema.items);
      return `list of ${of || "anything"}`;
    }
    return schema.type || "anything";
  };
  const table = (rows) => element("table", {}, element("tbody", {}, ...rows.map(([name, type, text]) =>
    element("tr", {}, element("td", {}, element("code", {}, name)), element("td", {}, type), element("td", {}, ...marked(text || ""))))));
  const properties = (description, schema) => table(Object.entries(follow(description, schema).properties || {}).map(
    ([name, each]) => [name, kind(each), each.description]));

  const operation = (description, path, method, about) => {
    const parameters = about.parameters || [];
    const body = about.requestBody && about.requestBody.content["application/json"].schema;
    const given = parameters.filter((each) => each.example !== undefined);
    const query = new URLSearchParams(given.filter((each) => each.in === "query").map((each) => [each.name, each.example]));
    const place = given.filter((each) => each.in === "path").reduce(
      (text, each) => text.replace(`{${each.name}}`, encodeURI(each.example).replaceAll("'", "%27")), path);
    const call = method === "post"
      ? `curl -H 'Content-Type: application/json' -d '${JSON.stringify(about.requestBody.content["application/json"].example).replaceAll("'", "\\u0027")}' ${location.origin}${path}`
      : `curl '${location.origin}${place}${query.size ? `?${query}` : ""}'`;
    return element("section", { "aria-label": `${method} ${path}` },
      element("h2", {}, element("span", { class: "method" }, method.toUpperCase()), ` ${path}`),
      ...paragraphs(about.description), element("pre", {}, call),
      ...(parameters.length ? [element("h3", {}, "Parameters"), table(parameters.map((each) => [each.name + (each.required ? "" : " (optional)"), kind(each.schema), each.description]))] : []),
      ...(body ? [element("h3", {}, "Body"), properties(description, body)] : []),
      element("h3", {}, "Responses"),
      table(Object.entries(about.responses).map(([status, each]) =>
        [status, each.content ? kind(Object.values(each.content)[0].schema) : "", each.description])));
  };

  fetch("openapi.json").then((answer) => answer.json()).then((description) => {
    const article = document.getElementById("article");
    article.append(...paragraphs(description.info.description));
    for (const [path, methods] of Object.entries(description.paths)) {
      for (const [method, about] of Object.entries(methods)) article.append(operation(description, path, method, about));
    }
    article.append(element("h2", {}, "Schemas"));
    for (const [name, schema] of Object.entries(description.components.schemas)) {
      article.append(element("h3", {}, name), ...paragraphs(schema.description), properties(description, schema));
    }
  });
})();
