// Finds what is drawn in neither the text's nor the paper's colour of a reader who has colours of
// their own, or only in the paper's.
(selector) => {
  const probe = document.body.appendChild(document.createElement("i"));
  const named = (name) => {
    probe.style.color = name;
    return getComputedStyle(probe).color;
  };
  const [text, paper] = [named("CanvasText"), named("Canvas")];
  probe.remove();
  const found = [];
  for (const each of document.querySelectorAll(selector)) {
    if (!each.checkVisibility()) continue;
    const style = getComputedStyle(each);
    const used = [style.fill, style.stroke].filter((colour) => colour !== "none");
    if (used.includes(text) && used.every((colour) => [text, paper].includes(colour))) continue;
    found.push(`${each.outerHTML.slice(0, 90)}: ${used.join(", ")}`);
  }
  return found;
}
