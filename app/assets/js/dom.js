// Small helpers. Gradio gives `element` (this component) and `server` (the Python functions) to the whole script.
const root = element.querySelector(".ale");
const main = root.querySelector("#ale-main");
root.parentElement.closest("main")?.setAttribute("role", "presentation"); // Gradio's: a page has one main part
const one = (selector, within = root) => within.querySelector(selector);
const all = (selector, within = root) => [...within.querySelectorAll(selector)];

/** The pairs of the address, without Gradio's own, whose names begin with "_". */
const pairsOf = (query) => [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("_"));

/** A query string that people can read: only what must be encoded is. */
function encode(pairs) {
  const readable = (text) =>
    encodeURIComponent(text).replace(/%20/g, "+").replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
  return pairs.map(([name, value]) => `${readable(name)}=${readable(value)}`).join("&");
}

const without = (pairs, ...names) => pairs.filter(([name]) => !names.includes(name));
const valueOf = (pairs, name) => pairs.findLast(([given]) => given === name)?.[1] ?? "";

/** Browser storage that is full, or switched off, is no reason to stop. */
const storage = {
  read(area, key, fallback) {
    try {
      return JSON.parse(window[area].getItem(key)) ?? fallback;
    } catch {
      return fallback;
    }
  },
  write(area, key, value) {
    try {
      window[area].setItem(key, JSON.stringify(value));
    } catch {
      // What is kept there is a comfort; the address holds all that matters.
    }
  },
};

let toastTimer;
function toast(message, isFault = false) {
  const box = one("[data-toast]");
  box.textContent = message;
  box.classList.toggle("fault", isFault);
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (box.hidden = true), isFault ? 12000 : 4000);
}
