// A page without matrices: its charts all came as values, and nothing can be chosen.

const ground = matchMedia("(prefers-color-scheme: dark)");

function redraw() {
  theme = report.themes[ground.matches ? "dark" : "light"];
  drawSections();
}

ground.addEventListener("change", redraw);
addEventListener("resize", () => requestAnimationFrame(redraw));
redraw();
