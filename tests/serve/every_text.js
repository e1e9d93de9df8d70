() => {
  const spoken = ["aria-label", "placeholder", "title", "aria-valuetext"];
  const silent = ["SCRIPT", "STYLE", "NOSCRIPT"];
  return [...document.querySelectorAll("body *")]
    .filter((each) => !silent.includes(each.tagName))
    .flatMap((each) => [
      ...spoken.map((name) => each.getAttribute(name)),
      ...[...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent),
    ])
    .filter(Boolean)
    .join("\n");
}
