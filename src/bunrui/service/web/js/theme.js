// Not a module: it runs before the page is drawn, so that nothing flashes.
"use strict";
(() => {
  const chosen = localStorage.getItem("bunrui.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.style.colorScheme = chosen;
})();
