"use strict";
// What the pages of this library share: their data, sprites of codes, and the button for light and dark.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

/** Show part `number` of a sprite in an element, `zoom` pixels per pixel. */
function show(element, number, sprite, h, w, zoom) {
  const x = number % sprite.columns, y = Math.floor(number / sprite.columns);
  element.style.width = `${w * zoom}px`;
  element.style.height = `${h * zoom}px`;
  element.style.backgroundSize = `${sprite.columns * w * zoom}px auto`;
  element.style.backgroundPosition = `${-x * w * zoom}px ${-y * h * zoom}px`;
}

function make(kind, name, text) {
  const element = document.createElement(kind);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const number = (value) => value.toFixed(2).replace("-", "−");

(() => {
  const theme = $("theme");
  const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
})();
