// Wiring: a few listeners on the whole page, since its content comes and goes.
const isPlainClick = (event) =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey && !event.defaultPrevented;

const onClick = {
  "[data-sel]": (node) => toggleTask(node.dataset.sel),
  "[data-sel-page]": () => addTasks(all(".results [data-task]", main).map((node) => node.dataset.task)),
  "[data-sel-list]": (node) => addTasks(all("[data-task]", node.closest("[data-list]")).map((entry) => entry.dataset.task)),
  "[data-move]": (node) => {
    moveTask(node.dataset.task, Number(node.dataset.move));
    show({ focus: node.dataset.key });
  },
  "[data-drop]": (node) => {
    toggleTask(node.dataset.drop);
    show();
  },
  "[data-basket-clear]": () => {
    basket.ids = [];
    keepBasket();
    if (valueOf(pairsOf(location.search), "tab") === "selection") show();
  },
  "[data-export]": (node) => exportFile(node.dataset.export, node.dataset.scope),
  "[data-all]": (node) => {
    const memory = memoryOf(boxOf(node));
    memory.all = !memory.all;
    arrangeBox(boxOf(node));
  },
  "[data-filters]": toggleFilters,
  "[data-retry]": () => show(),
  "[data-theme-toggle]": () => setDark(!document.body.classList.contains("dark")),
};

root.addEventListener("click", (event) => {
  for (const [selector, act] of Object.entries(onClick)) {
    const node = event.target.closest(selector);
    if (node) return act(node);
  }
  const link = event.target.closest('a[href^="?"]');
  if (link) {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    const query = link.getAttribute("href").slice(1);
    rememberQuery(link.closest(".examples") ? valueOf(pairsOf(query), "q") : "");
    go(query);
    return;
  }
  const row = event.target.closest("[data-open]");
  if (row && !event.target.closest("a, button, input") && !String(window.getSelection())) go(row.dataset.open.slice(1));
});

// A link that is opened in a new tab takes the selection along.
root.addEventListener("pointerdown", (event) => {
  const link = event.target.closest?.('a[href^="?"]');
  if (link && basket.ids.length) {
    const own = encode([...without(pairsOf(link.getAttribute("href")), "sel", "note"), ...basketPairs()]);
    link.setAttribute("href", `?${own}`);
  }
});

/** The address with the named controls of a form or a single control as they now are. */
function controlPairs(controls) {
  let pairs = without(pairsOf(location.search), "page", "task");
  for (const control of controls) {
    const value = control.type === "checkbox" && !control.checked ? "" : control.value.trim();
    const added = control.multiple ? [...control.selectedOptions].map((option) => option.value) : [value];
    const wanted = added.filter((value) => value && value !== (control.dataset.default ?? ""));
    const kept = "append" in control.dataset ? pairs : without(pairs, control.name);
    pairs = [...kept, ...wanted.map((value) => [control.name, value])];
  }
  return pairs;
}

root.addEventListener("change", (event) => {
  const control = event.target;
  if (control.matches("[data-facet]")) goPairs(facetPairs(control));
  else if (control.matches("select[data-nav]")) goPairs(controlPairs([control]));
  else if (control.matches("input[type=range][data-nav]")) submitForm(control.form, { replace: true }); // no step to go back to
  else if (control.matches("[data-note]")) {
    basket.notes.set(control.dataset.note, control.value.trim());
    keepBasket();
  }
});

root.addEventListener("input", (event) => {
  const output = event.target.id && one(`output[data-of="${CSS.escape(event.target.id)}"]`, main);
  if (output) output.textContent = Number(event.target.value).toFixed(2);
  if (!event.target.matches("[data-within]")) return;
  memoryOf(boxOf(event.target)).within = event.target.value;
  arrangeBox(boxOf(event.target));
});

root.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.matches("[data-search]")) return submitQuery();
  if (event.target.matches("[data-nav]")) submitForm(event.target);
});

const LONGEST = 50000; // characters of an address; servers refuse longer ones

/** All of a form's controls at once, so that none loses what has been typed. */
function submitForm(form, options) {
  const pairs = controlPairs(all("[name]", form));
  if (encode(pairs).length > LONGEST) return toast("That is too much text for this page: use a shorter one, or the command line.", true);
  const shownNow = goPairs(pairs, options);
  if (!options) shownNow.then(bringAnswer);
}

/** On a small screen the answer may stand below all that is in sight. */
function bringAnswer() {
  const answer = one("[data-answer]", main);
  if (answer && answer.getBoundingClientRect().top > window.innerHeight * 0.75) answer.scrollIntoView();
}

function submitQuery() {
  const text = one("#ale-q").value.trim();
  rememberQuery(text);
  const pairs = pairsOf(location.search);
  const onMap = valueOf(pairs, "tab") === "map";
  const dropped = ["q", "ignore", "page", "task", ...(onMap ? [] : ["tab", "like", "unlike", "text", "color"])];
  const kept = without(pairs, ...dropped).filter(([name]) => !name.includes("."));
  goPairs([...(text ? [["q", text]] : []), ...kept]);
}

root.addEventListener("toggle", (event) => {
  if (event.target.matches("[data-box]")) memoryOf(event.target).open = event.target.open;
}, true);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of all("details.menu[open]")) menu.open = false;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  one("#ale-q").select();
});

document.addEventListener("click", (event) => {
  for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

window.addEventListener("popstate", (event) => {
  // The selection is no step of the way: it stays as it is when one goes back.
  history.replaceState(event.state, "", withBasket(location.search));
  show({ scroll: event.state?.scroll ?? 0 });
});

function setDark(dark, remember = true) {
  document.body.classList.toggle("dark", dark);
  one("[data-theme-toggle]").setAttribute("aria-pressed", dark);
  if (remember) storage.write("localStorage", "ale.theme", dark ? "dark" : "light");
}

const theme = storage.read("localStorage", "ale.theme", null);
setDark(theme ? theme === "dark" : document.body.classList.contains("dark"), false);
history.scrollRestoration = "manual";
startBasket();
show();
