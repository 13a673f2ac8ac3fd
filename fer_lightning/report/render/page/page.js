"use strict";
// Theme, the current section in the contents, and which models are shown.
const root = document.documentElement;
root.classList.add("js");

const say = (text) => {
  const status = document.querySelector(".said");
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.textContent = ""; }, 4000);
};

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

{
  const button = document.querySelector(".theme");
  const themes = ["system", "light", "dark"];
  const kept = (action) => { // a browser may forbid a file to store anything
    try { return action(localStorage); } catch { return null; }
  };
  const show = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = kept((store) => store.getItem("report-theme"));
  if (!themes.includes(theme)) theme = "system";
  button.hidden = false;
  show(theme);
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    kept((store) => store.setItem("report-theme", theme));
    show(theme);
  });
}

{
  const links = new Map();
  for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
  const inView = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target.id);
      else inView.delete(target.id);
    }
    const current = [...links.keys()].find((id) => inView.has(id));
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-10% 0px -60% 0px" });
  for (const section of document.querySelectorAll("main > section")) watch.observe(section);
}

{
  const off = new Set();
  for (const chip of document.querySelectorAll("[data-model]")) {
    chip.addEventListener("click", () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", shown);
      if (shown) off.delete(chip.dataset.model);
      else off.add(chip.dataset.model);
      for (const element of document.querySelectorAll("[data-models]")) {
        const hidden = element.dataset.models.split(" ").some((model) => off.has(model));
        element.classList.toggle("no-model", hidden);
      }
      document.dispatchEvent(new Event("models"));
    });
  }
}
