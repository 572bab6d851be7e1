// Finds text whose contrast with what is behind it is below 4.5 to 1, as WCAG's AA asks.
() => {
  const numbers = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
  const light = (rgb) => rgb.slice(0, 3)
    .map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = numbers(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(text), light(behind(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${element.outerHTML.slice(0, 90)}: ${contrast.toFixed(2)}`);
  }
  return found;
}
