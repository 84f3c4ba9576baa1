// The map: tooltip, keyboard, box and lasso. The points themselves are links from the server.
let brush = "box";
let chosenPoints = [];

const mapOf = () => one("[data-map]", main);
const pointsOf = (map) => all("[data-point]", map);

function openMap() {
  const map = mapOf();
  if (!map) return;
  chosenPoints = [];
  const points = pointsOf(map);
  const first = points.findLast((point) => point.classList.contains("hit")) ?? points.at(-1);
  first?.setAttribute("tabindex", "0"); // one stop for the Tab key; the arrows go on from there
  map.addEventListener("pointermove", (event) => tip(map, event.target.closest?.("[data-point]")));
  map.addEventListener("pointerleave", () => tip(map, null));
  map.addEventListener("focusin", (event) => tip(map, event.target.closest("[data-point]")));
  map.addEventListener("focusout", () => tip(map, null));
  map.addEventListener("keydown", (event) => walk(map, event));
  map.addEventListener("dragstart", (event) => event.preventDefault());
  one("svg", map).addEventListener("pointerdown", (event) => startBrush(map, event));
  one("[data-chosen-add]", map).addEventListener("click", () => addTasks(chosenPoints));
  one("[data-chosen-none]", map).addEventListener("click", () => choosePoints(map, []));
  one("[data-chosen-filter]", map).addEventListener("click", () =>
    goPairs([...without(pairsOf(location.search), "task_id", "page"), ...chosenPoints.map((id) => ["task_id", id])]),
  );
  for (const button of all("[data-brush]", main)) {
    button.setAttribute("aria-pressed", button.dataset.brush === brush);
    button.addEventListener("click", () => {
      brush = button.dataset.brush;
      for (const other of all("[data-brush]", main)) other.setAttribute("aria-pressed", other === button);
    });
  }
  for (const link of all("[data-show-point]", main)) {
    const point = points.find((other) => other.dataset.point === link.dataset.showPoint);
    link.addEventListener("pointerenter", () => tip(map, point));
    link.addEventListener("pointerleave", () => tip(map, null));
  }
}

function closeMap() {
  stopBrush?.();
}

function tip(map, point) {
  const box = one("[data-tip]", map);
  for (const other of all(".pointed", map)) other.classList.remove("pointed");
  box.hidden = !point;
  if (!point) return;
  point.classList.add("pointed");
  const title = Object.assign(document.createElement("b"), { textContent: point.dataset.title });
  box.replaceChildren(title, document.createTextNode(point.dataset.detail));
  const [paper, place] = [map.getBoundingClientRect(), point.getBoundingClientRect()];
  const left = place.left + place.width / 2 - paper.left - box.offsetWidth / 2;
  box.style.left = `${Math.max(4, Math.min(left, paper.width - box.offsetWidth - 4))}px`;
  const top = place.top - paper.top - box.offsetHeight - 8;
  box.style.top = `${top < 0 ? place.bottom - paper.top + 8 : top}px`;
}

/** Arrow keys lead to the nearest point in their direction. */
function walk(map, event) {
  const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [];
  const here = event.target.closest("[data-point]");
  if (dx === undefined || !here) return;
  event.preventDefault();
  let best = null;
  for (const point of pointsOf(map)) {
    const [x, y] = [point.dataset.x - here.dataset.x, point.dataset.y - here.dataset.y];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    if (along <= 0 || aside > along * 2) continue;
    const cost = along + 2 * aside;
    if (!best || cost < best.cost) best = { point, cost };
  }
  if (!best) return;
  here.setAttribute("tabindex", "-1");
  best.point.setAttribute("tabindex", "0");
  best.point.focus();
}

let stopBrush = null;

function startBrush(map, start) {
  if (start.button !== 0) return;
  const svg = one("svg", map);
  const path = one(".brush", map);
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const trail = [place(start)];
  let drawn = false;
  const move = (event) => {
    const to = place(event);
    if (!drawn && Math.hypot(to.x - trail[0].x, to.y - trail[0].y) < 8) return; // still a click
    drawn = true;
    if (brush === "lasso") trail.push(to);
    else trail.splice(1, 3, { x: to.x, y: trail[0].y }, to, { x: trail[0].x, y: to.y });
    path.removeAttribute("hidden");
    path.setAttribute("d", `M${trail.map((point) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join("L")}Z`);
  };
  stopBrush = () => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    path.setAttribute("hidden", "");
    stopBrush = null;
  };
  const end = () => {
    stopBrush();
    if (!drawn) return;
    svg.addEventListener("click", swallow, { capture: true, once: true }); // the end of a drag opens nothing
    setTimeout(() => svg.removeEventListener("click", swallow, { capture: true }), 0);
    const within = pointsOf(map).filter((point) => isInside(Number(point.dataset.x), Number(point.dataset.y), trail));
    choosePoints(map, within.map((point) => point.dataset.point));
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
}

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}

/** Whether a point lies in a closed line: it does if a ray from it crosses the line an odd number of times. */
function isInside(x, y, line) {
  let inside = false;
  line.forEach((a, i) => {
    const b = line[(i + 1) % line.length];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  });
  return inside;
}

function choosePoints(map, ids) {
  chosenPoints = ids;
  for (const point of pointsOf(map)) point.classList.toggle("chosen-point", ids.includes(point.dataset.point));
  one("[data-chosen]", map).hidden = !ids.length;
  one("[data-chosen-text]", map).textContent = `${ids.length} task${ids.length === 1 ? "" : "s"}`;
}
