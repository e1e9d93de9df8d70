// Texts and badges whose contrast with their ground is below the 4.5 that WCAG asks for, as [ratio, text].
() => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const read = (name) => {
    const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ratio = (one, two) => {
    const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.9) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")]
    .filter((each) => each.checkVisibility() && !each.closest(".unseen, .skip, noscript"))
    .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
    .map((each) => [ratio(parse(getComputedStyle(each).color), ground(each)), each.textContent.trim().slice(0, 30)]);
  const badges = [0, 1, 2, 3, 4, 5].map((i) => [ratio(read(`--route-${i}`), read("--paper")), `route ${i}`]);
  return [...texts, ...badges].filter(([found]) => found < 4.5);
}
