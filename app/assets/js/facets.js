// The facet panel: what is open and what is looked for stays so over searches.
const boxes = new Map(); // facet name -> { open, within, all }
let filtersOpen = false; // on narrow screens the panel is folded away

const boxOf = (node) => node.closest("[data-box]");
const memoryOf = (box) => boxes.get(box.dataset.box) ?? boxes.set(box.dataset.box, {}).get(box.dataset.box);

function settleFacets() {
  for (const box of all("[data-box]", main)) {
    const memory = memoryOf(box);
    if (memory.open !== undefined) box.open = memory.open || Boolean(one("input:checked", box));
    if (memory.within) one("[data-within]", box).value = memory.within;
    arrangeBox(box);
  }
  root.classList.toggle("filters-open", filtersOpen);
  for (const button of all("[data-filters]", main)) button.setAttribute("aria-expanded", filtersOpen);
}

/** Make the options that were left out of the page, which most searches never show. */
function growBox(box) {
  const button = one(":scope > fieldset > [data-all]", box);
  if (!button || "grown" in button.dataset) return;
  button.dataset.grown = "";
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  for (const [value, name, count] of JSON.parse(button.dataset.rest)) {
    const input = make("input", { type: "checkbox", name: box.dataset.box, value });
    Object.assign(input.dataset, { facet: "", key: `facet:${box.dataset.box}=${value}` });
    const label = make("span", { className: "name", textContent: name });
    const number = make("span", { className: "count" }, String(count), make("span", { className: "sr", textContent: " tasks" }));
    const option = make("label", { className: count ? "option" : "option zero" }, input, label, number);
    option.dataset.extra = "";
    button.before(option);
  }
}

/** Show the values that contain what is looked for; without that, the first ones, or all. */
function arrangeBox(box) {
  const memory = memoryOf(box);
  const wanted = (memory.within ?? "").trim().toLowerCase();
  if (wanted || memory.all) growBox(box);
  let visible = 0;
  for (const option of all(":scope > fieldset > .option", box)) {
    const fits = one(".name", option).textContent.toLowerCase().includes(wanted);
    option.hidden = wanted ? !fits : "extra" in option.dataset && !memory.all;
    visible += !option.hidden;
  }
  const nothing = one(":scope > fieldset > .nothing", box);
  if (nothing) nothing.hidden = visible > 0;
  const button = one(":scope > fieldset > [data-all]", box);
  if (!button) return;
  button.hidden = Boolean(wanted);
  button.setAttribute("aria-expanded", Boolean(memory.all));
  button.dataset.label ??= button.textContent;
  button.textContent = memory.all ? "Show fewer" : button.dataset.label;
}

/** The address with the facet of a checkbox as it is now ticked. */
function facetPairs(input) {
  let pairs = without(pairsOf(location.search), "page", "task");
  if (input.name === "missing") {
    pairs = pairs.filter(([name, value]) => name !== "missing" || value !== input.value);
    return input.checked ? [...pairs, ["missing", input.value]] : pairs;
  }
  const ticked = all(`input[name="${CSS.escape(input.name)}"]:checked`, boxOf(input)).map((other) => other.value);
  const kept = pairs.filter(([name, value]) => name === input.name && ticked.includes(value)).map(([, value]) => value);
  const order = [...new Set([...kept, ...ticked])]; // values stay in the order in which they were ticked
  return [...without(pairs, input.name), ...order.map((value) => [input.name, value])];
}

function toggleFilters() {
  filtersOpen = !filtersOpen;
  settleFacets();
  if (filtersOpen) one("#ale-filters", main)?.scrollIntoView({ block: "nearest" });
}
