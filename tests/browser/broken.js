// Finds what is laid out wrongly: a page that scrolls sideways, a field that is too high, a text that
// is cut off, and a word that is broken although it would fit into a line.
() => {
  const HIGHEST = 120, LONGEST = 20;
  const name = (element) => element.outerHTML.slice(0, 90);
  const found = [];
  const {scrollWidth, clientWidth} = document.documentElement;
  if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} wide, of ${clientWidth}`);

  const heights = (elements) => elements.map((each) => each.getBoundingClientRect().height);
  const shown = (selector) => [...document.querySelectorAll(selector)]
    .filter((each) => each.checkVisibility() && each.type !== "hidden");
  for (const each of shown("input, select, textarea")) {
    const described = (each.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);
    const texts = heights(described.map((id) => document.getElementById(id)).filter(Boolean));
    const place = each.closest("div, fieldset, form");
    const spare = heights([place])[0] - texts.reduce((sum, one) => sum + one, 0);
    const alone = place.querySelectorAll("input, select, textarea").length === 1;
    if (heights([each])[0] > HIGHEST || (alone && spare > HIGHEST)) found.push(`too high: ${name(each)}`);
  }

  for (const each of shown("body *")) {
    const style = getComputedStyle(each);
    const hides = ["hidden", "clip"].includes(style.overflowX) && !(each instanceof SVGElement);
    const wanted = each.matches(".unseen") || style.textOverflow === "ellipsis";
    if (hides && !wanted && each.scrollWidth > each.clientWidth + 1) found.push(`cut off: ${name(each)}`);
  }

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, parent = text.parentElement;
    if (!parent.checkVisibility() || parent.closest("pre, script, style, .unseen, option")) continue;
    if (getComputedStyle(parent).hyphens === "auto") continue;
    for (const token of text.data.matchAll(/\S+/g)) {
      if (token[0].length > LONGEST) continue;
      for (const word of token[0].matchAll(/[\p{L}\p{N}_.,]+/gu)) {
        const range = document.createRange(), start = token.index + word.index;
        range.setStart(text, start);
        range.setEnd(text, start + word[0].length);
        const lines = new Set([...range.getClientRects()].map((each) => Math.round(each.top)));
        if (lines.size > 1) found.push(`"${word[0]}" is broken: ${name(parent)}`);
      }
    }
  }
  return found;
}
