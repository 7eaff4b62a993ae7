"use strict";
// Light and dark, kept nowhere: a file of one's own has no storage to rely on.
(() => {
const themes = ["auto", "light", "dark"];
const button = document.getElementById("theme"), now = document.getElementById("theme-now");
button.hidden = false;
button.addEventListener("click", () => {
  const next = themes[(themes.indexOf(now.textContent) + 1) % themes.length];
  now.textContent = next;
  if (next === themes[0]) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
});
})();
