// How many pixels of a canvas have about the colour of a CSS variable.
([canvas, variable]) => {
  const text = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const element = document.querySelector(canvas);
  const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const far = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b);
    if (data[i + 3] > 200 && far < 12) count++;
  }
  return count;
}
