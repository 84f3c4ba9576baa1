// The selection: it lives in the address, and in the tab's session so that a bare address finds it again.
const basket = { ids: [], notes: new Map() };

function basketPairs() {
  const notes = basket.ids.filter((id) => basket.notes.get(id)).map((id) => ["note", `${id}:${basket.notes.get(id)}`]);
  return [...basket.ids.map((id) => ["sel", id]), ...notes];
}

function readBasket(pairs) {
  basket.ids = [...new Set(pairs.filter(([name, value]) => name === "sel" && value).map(([, value]) => value))];
  basket.notes = new Map();
  for (const [name, value] of pairs) {
    const colon = value.indexOf(":");
    if (name === "note" && colon > 0) basket.notes.set(value.slice(0, colon), value.slice(colon + 1));
  }
}

/** An address with the present selection instead of its own. */
function withBasket(query) {
  const text = encode([...without(pairsOf(query), "sel", "note"), ...basketPairs()]);
  return location.pathname + (text ? `?${text}` : "");
}

function startBasket() {
  const pairs = pairsOf(location.search);
  readBasket(pairs.length ? pairs : storage.read("sessionStorage", "ale.selection", []));
  if (basket.ids.length) history.replaceState(history.state, "", withBasket(location.search));
  storage.write("sessionStorage", "ale.selection", basketPairs());
}

/** Keep the selection as it now is; adding a task is no step to go back from. */
function keepBasket() {
  storage.write("sessionStorage", "ale.selection", basketPairs());
  history.replaceState(history.state, "", withBasket(location.search));
  showBasket();
}

function toggleTask(id) {
  basket.ids = basket.ids.includes(id) ? basket.ids.filter((other) => other !== id) : [...basket.ids, id];
  keepBasket();
  one("[data-status]").textContent = `${basket.ids.length} selected`;
}

function addTasks(ids) {
  const before = basket.ids.length;
  basket.ids = [...new Set([...basket.ids, ...ids])];
  keepBasket();
  toast(`${basket.ids.length - before} added to the selection`);
}

function moveTask(id, step) {
  const from = basket.ids.indexOf(id);
  const to = from + step;
  if (from < 0 || to < 0 || to >= basket.ids.length) return;
  basket.ids.splice(to, 0, ...basket.ids.splice(from, 1));
  keepBasket();
}

function showBasket() {
  const count = basket.ids.length;
  for (const button of all("[data-sel]")) button.setAttribute("aria-pressed", basket.ids.includes(button.dataset.sel));
  const badge = one("[data-basket-count]");
  if (badge) {
    badge.textContent = count;
    badge.hidden = !count;
  }
  const bar = one("[data-basket]");
  bar.hidden = !count || valueOf(pairsOf(location.search), "tab") === "selection";
  root.classList.toggle("with-basket", !bar.hidden);
  one("[data-basket-text]").textContent = `${count} task${count === 1 ? "" : "s"} selected`;
}

async function exportFile(form, scope) {
  try {
    const file = await server.ale_export({ address: location.search.slice(1), form, scope });
    if (file.problem) return toast(file.problem, true);
    const bytes = Uint8Array.from(atob(file.base64), (char) => char.charCodeAt(0));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: file.media_type }));
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    toast(`${file.name} saved`);
  } catch (fault) {
    toast(`The export failed: ${fault.message ?? fault}. Is the server still running?`, true);
  }
}
