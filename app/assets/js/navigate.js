// The address is the state. Every action makes an address; the server says what it looks like.
let latest = 0;
let busyTimer;

function setBusy(busy) {
  main.setAttribute("aria-busy", busy);
  clearTimeout(busyTimer);
  const bar = one(".progress");
  if (!busy) bar.hidden = true;
  else busyTimer = setTimeout(() => (bar.hidden = false), 120); // a quick answer needs no sign of work
}

/** Go to an address of this page and remember the way back. */
function go(query, { replace = false, focus = null } = {}) {
  const address = withBasket(query);
  if (replace) history.replaceState({}, "", address);
  else {
    history.replaceState({ ...history.state, scroll: window.scrollY }, "");
    history.pushState({}, "", address);
  }
  return show({ focus });
}

const goPairs = (pairs, options) => go(encode(pairs), options);

/** Show what the address says. */
async function show({ focus = null, scroll = null } = {}) {
  const ticket = ++latest;
  const address = location.search.slice(1);
  setBusy(true);
  let screen;
  try {
    screen = await server.ale_screen(address);
  } catch (fault) {
    if (ticket === latest) showFault(fault);
    return;
  }
  if (ticket !== latest) return; // a later step has overtaken this one
  const before = viewOf(shown);
  const key = focus ?? keyOfFocus();
  closeMap();
  main.innerHTML = screen.html;
  one("[data-foot]").innerHTML = screen.foot; // another index may have been opened since
  one("[data-demo]").hidden = !screen.demo;
  document.title = screen.title;
  shown = address;
  settle();
  restoreFocus(key, before !== viewOf(address));
  if (scroll !== null) window.scrollTo(0, scroll);
  else if (before !== viewOf(address)) window.scrollTo(0, 0);
  one("[data-status]").textContent = screen.status;
  setBusy(false);
}

let shown = null;

/** What must differ for a view to count as another one, and begin at its top. */
function viewOf(address) {
  if (address === null) return null;
  const pairs = pairsOf(address);
  return ["tab", "task", "page", "curriculum.view"].map((name) => valueOf(pairs, name)).join(" ");
}

function keyOfFocus() {
  const focused = document.activeElement;
  return main.contains(focused) ? (focused.closest("[data-key]")?.dataset.key ?? null) : null;
}

function restoreFocus(key, isOther) {
  const again = key && one(`[data-key="${CSS.escape(key)}"]`, main);
  if (again) again.focus({ preventScroll: true });
  else if (isOther && latest > 1 && !one("[data-search]").contains(document.activeElement)) {
    (one("h1[tabindex]", main) ?? main).focus({ preventScroll: true });
  }
}

function showFault(fault) {
  setBusy(false);
  if (shown === null) {
    main.innerHTML = `<section class="alone"><div class="banner banner-fault" role="alert"><h1>No answer</h1>
      <p>The server does not answer.</p><button type="button" class="ghost" data-retry>Try again</button></div></section>`;
  } else toast(`The server does not answer (${fault.message ?? fault}). What is shown is the last answer.`, true);
}

/** Bring everything around the new content into line with the address. */
function settle() {
  const pairs = pairsOf(location.search);
  const query = one("#ale-q");
  if (document.activeElement !== query || !query.value) query.value = valueOf(pairs, "q");
  const tab = valueOf(pairs, "tab") || "search";
  for (const link of all("[data-tab]")) {
    if (link.dataset.tab === tab) {
      link.setAttribute("aria-current", "page");
      const row = link.parentElement; // on a phone the row scrolls
      row.scrollLeft = link.offsetLeft - row.offsetLeft - row.clientWidth / 3;
    } else link.removeAttribute("aria-current");
  }
  settleFacets();
  showBasket();
  showRecent();
  openMap();
}

const RECENT = 8;

function rememberQuery(text) {
  if (!text) return;
  const recent = storage.read("localStorage", "ale.recent", []).filter((other) => other !== text);
  storage.write("localStorage", "ale.recent", [text, ...recent].slice(0, RECENT));
}

function showRecent() {
  const recent = storage.read("localStorage", "ale.recent", []);
  const option = (text) => Object.assign(document.createElement("option"), { value: text });
  one("#ale-recent").replaceChildren(...recent.map(option));
  const place = one("[data-recent]", main);
  if (!place) return;
  place.hidden = !recent.length;
  one("ul", place).replaceChildren(
    ...recent.map((text) => {
      const item = document.createElement("li");
      item.append(Object.assign(document.createElement("a"), { href: `?${encode([["q", text]])}`, textContent: text }));
      return item;
    }),
  );
}
