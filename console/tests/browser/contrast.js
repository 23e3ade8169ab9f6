// Finds text that is hard to read: for every visible piece of text, the contrast between its colour
// and what is behind it, as WCAG 2 computes it. The file's value is the list of those below AA.
(function () {
  "use strict";
  const parse = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    const wide = text.startsWith("color(srgb");
    const [r, g, b] = wide ? numbers.slice(0, 3).map((n) => n * 255) : numbers;
    return { r, g, b, a: numbers[3] ?? 1 };
  };
  const over = (top, under) => {
    const mix = (name) => top[name] * top.a + under[name] * (1 - top.a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const light = ({ r, g, b }) => {
    const part = (n) => {
      const v = n / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a > 0) layers.push(colour);
      if (colour.a === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const wrong = [];
  let looked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent.trim();
    const element = node.parentElement;
    if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.closest("script, style, noscript, option, .told, .stale, :disabled")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const under = behind(element);
    const ratio = contrast(over(parse(style.color), under), under);
    looked++;
    if (ratio < (large ? 3 : 4.5)) wrong.push(`${ratio.toFixed(2)}: "${text.slice(0, 40)}" (${element.tagName} ${element.className})`);
  }
  // What the canvases draw with: text at 4.5, marks at 3, each on what it is drawn on.
  const token = (name) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [r, g, b] = March.rgbOf(hex);
    return { r, g, b, a: 1 };
  };
  const pairs = [["--ink", "--surface", 4.5], ["--muted", "--surface", 4.5], ["--muted", "--stripe", 4.5], ["--bad", "--surface", 4.5], ["--warn", "--surface", 4.5], ["--past", "--surface", 3], ["--future", "--surface", 3]];
  for (let i = 0; i < 8; i++) pairs.push([`--owner-${i}`, "--map", 4.5], ["--on-owner", `--owner-${i}`, 4.5]);
  for (const [a, b, least] of pairs) {
    looked++;
    const ratio = contrast(token(a), token(b));
    if (ratio < least) wrong.push(`${ratio.toFixed(2)}: ${a} on ${b}`);
  }
  return { looked, wrong };
})()
