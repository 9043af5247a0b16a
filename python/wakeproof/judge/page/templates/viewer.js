"use strict";
/* The viewer of counterexamples and state graphs, and the search of claims. It sets text only: no
 * text of a name, a trace or a source is ever read as markup. An address names what is shown:
 * #claim, #claim/step, #counterexample/step, #graph:configuration/state. */
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const traces = new Map((data.counterexamples || []).map((one) => [one.name, one]));
  const graphs = new Map((data.graphs || []).map((one) => [`graph:${one.name}`, one]));
  const dialog = byId("viewer");
  let shown = null; // what the dialog shows: { name, one, isGraph, at, last }

  /* Makes an element; strings and elements are its contents. */
  function make(tag, attributes, ...inner) {
    const isSvg = ["svg", "path", "line", "circle", "title", "marker", "defs", "g"].includes(tag);
    const made = isSvg
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    }
    made.append(...inner);
    return made;
  }

  const link = (name, at) => `#${encodeURIComponent(name).replace(/%3A/g, ":")}/${at}`;

  /* Values. */

  const isGroup = (value) => typeof value === "object" && value !== null;
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const items = (value) => value.items || [];
  const entries = (value) => value.entries || [];

  function text(value) {
    if (!isGroup(value)) return String(value);
    if (value.kind === "function") {
      return `[${entries(value).map(([key, part]) => `${key}: ${text(part)}`).join(", ")}]`;
    }
    const inner = items(value).map(text).join(", ");
    return value.kind === "set" ? `{${inner}}` : `\u27e8${inner}\u27e9`;
  }

  /* Shows a value with its structure; what differs from `before` is marked, and nothing else. */
  function structure(value, before) {
    const isChanged = before !== undefined && !same(value, before);
    if (isGroup(value) && value.kind === "function" && entries(value).length) {
      const old = new Map(isGroup(before) && before.kind === "function" ? entries(before) : []);
      const rows = entries(value).map(([key, part]) =>
        make("tr", {}, make("th", { scope: "row" }, key),
          make("td", {}, structure(part, before === undefined ? undefined : old.get(key) ?? "")))
      );
      return make("table", {}, make("tbody", {}, ...rows));
    }
    if (isGroup(value) && value.kind === "sequence" && items(value).some(isGroup)) {
      const old = isGroup(before) ? items(before) : [];
      const isShorter = old.length > items(value).length;
      const list = make("ol", {}, ...items(value).map((part, at) => make("li", {},
        isChanged && (isShorter || !same(part, old[at])) ? make("mark", {}, text(part)) : text(part))));
      return isShorter
        ? make("div", {}, list, make("span", { class: "was" }, `was ${text(before)}`)) : list;
    }
    if (!isChanged) return make("span", {}, text(value));
    const was = before === "" ? "" : ` was ${text(before)}`;
    return make("span", {}, make("mark", {}, text(value)), make("span", { class: "was" }, was));
  }

  /* Returns the values of all variables after step `at`. */
  function stateAfter(one, at) {
    return Object.assign({}, ...one.steps.slice(0, at).map((step) => step.values || {}));
  }

  function stateTable(values, before, hidden) {
    const rows = Object.entries(values).filter(([name]) => !hidden.includes(name)).map(
      ([name, value]) => make("tr", {}, make("th", { scope: "row" }, name),
        make("td", {}, structure(value, before ? before[name] ?? "" : undefined)))
    );
    return make("div", { class: "state wide", tabindex: "0" },
      make("table", {}, make("tbody", {}, ...rows)));
  }

  /* Store buffers, the oldest store next to memory, where it goes. */
  function buffers(one, values) {
    return (one.buffers || []).map((name, lane) => {
      const waiting = [...items(values[name] || {})].reverse();
      const cells = waiting.flatMap((part) => [make("span", { class: "cell" }, text(part)),
        make("span", { "aria-hidden": "true" }, "\u2192")]);
      return make("div", { class: "buffer" }, make("b", {}, one.lanes[lane]),
        ...(waiting.length ? ["\u2192", ...cells, "memory"] : [make("span", { class: "was" },
          "its store buffer is empty")]));
    });
  }

  /* The steps of all threads: a lane for each. */

  function lanes(name, one) {
    const names = one.lanes && one.lanes.length ? one.lanes : ["system"];
    const rows = one.steps.map((step, index) => {
      const number = index + 1;
      const cells = names.map((lane, at) => {
        const isOwn = at === step.lane || (step.lane < 0 && at === 0);
        return make("td", { class: isOwn && "own", "data-lane": isOwn && step.lane >= 0 && lane },
          ...(isOwn ? inLane(step) : []));
      });
      const row = make("tr", { "data-at": number },
        make("td", { class: "at" }, make("a", { href: link(name, number) }, String(number))),
        ...cells);
      row.addEventListener("click", () => go(number));
      return row;
    });
    const heads = names.map((lane) => make("th", { scope: "col" }, lane));
    return make("table", { class: "lanes", style: `min-width: ${3 + 9 * names.length}rem` },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "#"), ...heads)),
      make("tbody", {}, ...rows));
  }

  function inLane(step) {
    const parts = [step.text];
    if (step.got) parts.push(make("span", { class: step.is_stale ? "got stale" : "got" }, step.got));
    for (const change of step.got ? [] : step.changes || []) {
      parts.push(make("span", { class: "change" },
        `${change.place}: ${change.before} \u2192 ${change.after}`));
    }
    return parts;
  }

  /* Arrows from a store to what reads it, and to the step in which it reaches memory. */
  function drawArrows() {
    const box = byId("viewer-lanes");
    box.querySelector("svg")?.remove();
    const table = box.querySelector("table");
    const arrows = shown.one.steps.flatMap((step, index) => [["reads", step.reads],
      ["lands", step.lands]].filter(([, from]) => from && index < shown.at).map(([kind, from]) =>
      ({ kind, from, to: index + 1 })));
    if (!arrows.length || !table) return;
    const origin = table.getBoundingClientRect();
    const cell = (at) => table.querySelector(`tr[data-at="${at}"] .own`)?.getBoundingClientRect();
    const svg = make("svg", { width: origin.width, height: origin.height, "aria-hidden": "true" },
      make("defs", {}, make("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4,
        markerWidth: 8, markerHeight: 8, orient: "auto" }, make("path", { d: "M0,0L8,4L0,8z" }))));
    for (const { kind, from, to } of arrows) {
      const [start, end] = [cell(from), cell(to)];
      if (!start || !end) continue;
      const isBack = end.left < start.left;
      const isOwn = end.left === start.left;
      const [x1, y1] = [(isBack ? start.left : start.right) - origin.left + (isBack ? 4 : -4),
        start.bottom - origin.top - 8];
      const [x2, y2] = [(isBack || isOwn ? end.right : end.left) - origin.left
        + (isBack || isOwn ? -4 : 4), end.top - origin.top + 10];
      const bend = isOwn ? Math.min(28, 10 + (to - from) * 2) : 0;
      const isNow = to === shown.at || from === shown.at;
      svg.append(make("path", { class: `${kind}${isNow ? " now" : ""}`,
        "marker-end": isNow && "url(#head)",
        d: `M${x1},${y1}C${x1 + bend},${y1 + 12} ${x2 + bend},${y2 - 12} ${x2},${y2}` }));
    }
    box.append(svg);
  }

  /* Sources. */

  function sources(step) {
    return (step.sources || []).map((key) => data.sources[key]).filter(Boolean).map((source) => {
      const first = source.first;
      const [from, to] = source.mark || [0, 0];
      const lines = source.text.split("\n").flatMap((line, index) => {
        const isMarked = first + index >= from && first + index <= to;
        return [isMarked ? make("mark", {}, line) : line, "\n"];
      });
      return make("figure", { class: "source" },
        make("figcaption", {}, `${source.name}, from line ${first}`),
        make("pre", { tabindex: "0" }, ...lines));
    });
  }

  /* The dialog. */

  function open(name, at) {
    const isGraph = graphs.has(name);
    const one = graphs.get(name) || traces.get(name);
    if (!one) return false;
    if (!shown || shown.name !== name) {
      const last = isGraph ? one.states.length : Math.max(1, (one.steps || []).length);
      shown = { name, one, isGraph, at: 0, last, opener: document.activeElement };
      byId("viewer-title").textContent = isGraph ? `All states of ${one.name}` : one.title;
      fill("viewer-notes", (isGraph ? [one.about] : one.notes || []).map((line) =>
        make("p", {}, line)));
      fill("viewer-lanes", isGraph ? graph(name, one) : [lanes(name, one)]);
    }
    if (!dialog.open) {
      dialog.showModal();
      byId("step-next").focus();
    }
    show(Math.min(Math.max(1, at), shown.last));
    return true;
  }

  const fill = (id, inner) => byId(id).replaceChildren(...inner);

  function show(at) {
    shown.at = at;
    const { one, last, isGraph } = shown;
    const unit = isGraph ? "State" : "Step";
    byId("step-at").textContent = `${unit} ${at} of ${last}`;
    for (const [id, isEnd] of [["step-first", at <= 1], ["step-back", at <= 1],
      ["step-next", at >= last], ["step-last", at >= last]]) {
      byId(id).setAttribute("aria-disabled", isEnd); /* it keeps the focus, and so the keys */
    }
    if (isGraph) showState(one, at);
    else if (one.steps && one.steps.length) showStep(one, at, last);
    else fill("viewer-state", []);
  }

  function showStep(one, at, last) {
    const step = one.steps[at - 1];
    const after = stateAfter(one, at);
    const before = at > 1 ? stateAfter(one, at - 1) : null;
    for (const row of byId("viewer-lanes").querySelectorAll("tr[data-at]")) {
      const number = Number(row.dataset.at);
      row.classList.toggle("now", number === at);
      row.classList.toggle("later", number > at);
      if (number === at) {
        row.setAttribute("aria-current", "step");
        row.scrollIntoView({ block: "nearest" });
      } else row.removeAttribute("aria-current");
    }
    const ending = at === last && one.ending ? [make("p", { class: "note" }, one.ending)] : [];
    const drawn = buffers(one, after);
    fill("viewer-state", [...ending,
      ...(drawn.length ? [make("h3", {}, "Store buffers"), ...drawn] : []),
      ...(Object.keys(after).length > drawn.length
        ? [make("h3", {}, "State after this step"), stateTable(after, before, one.buffers || [])]
        : [])]);
    const found = sources(step);
    fill("viewer-source", found.length ? [make("h3", {}, "Sources"), ...found] : []);
    const who = step.lane >= 0 ? `${one.lanes[step.lane]}: ` : "";
    const what = [step.text, step.got, ...(step.changes || []).map((change) =>
      `${change.place} from ${change.before} to ${change.after}`)].filter(Boolean).join("; ");
    byId("viewer-live").textContent = `Step ${at} of ${last}. ${who}${what}. ${
      at === last ? one.ending || "" : ""}`;
    drawArrows();
  }

  /* A state graph: a picture, a search, and the steps that lead on from a state. */

  function graph(name, one) {
    const svg = make("svg", { viewBox: box(one.places), "aria-hidden": "true" });
    for (const [from, to] of one.edges) {
      const [[x1, y1], [x2, y2]] = [one.places[from], one.places[to]];
      svg.append(make("line", { x1, y1, x2, y2, "data-from": from }));
    }
    one.places.forEach(([cx, cy], index) => {
      const dot = make("circle", { cx, cy, r: 5, "data-state": index,
        class: one.starts.includes(index) ? "start" : "" }, make("title", {}, line(one.states[index])));
      dot.addEventListener("click", () => go(index + 1));
      svg.append(dot);
    });
    const texts = one.states.map(line);
    const field = make("input", { type: "search", id: "find-state", autocomplete: "off" });
    const hits = make("output", { for: "find-state" });
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = texts.map((text, index) => [text.toLowerCase(), index]).filter(([text]) =>
        words.length && words.every((word) => text.includes(word))).map(([, index]) => index);
      for (const dot of svg.querySelectorAll("circle")) {
        dot.classList.toggle("hit", found.includes(Number(dot.dataset.state)));
      }
      hits.replaceChildren(`${found.length} states `, ...found.slice(0, 12).flatMap((index) =>
        [make("a", { href: link(name, index + 1) }, String(index + 1)), " "]));
    });
    const label = make("label", { for: "find-state" }, "Find states");
    return [make("div", { class: "graph" }, make("p", { class: "find" }, label, field, hits), svg)];
  }

  const line = (state) => Object.entries(state).map(([name, value]) =>
    `${name} = ${text(value)}`).join(", ");

  function box(places) {
    const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
    const [x, y] = [Math.min(...xs) - 10, Math.min(...ys) - 10];
    return `${x} ${y} ${Math.max(...xs) - x + 10} ${Math.max(...ys) - y + 10}`;
  }

  function showState(one, at) {
    const index = at - 1;
    const lists = byId("viewer-lanes");
    for (const mark of lists.querySelectorAll("circle, line")) {
      mark.classList.toggle("now", [mark.dataset.state, mark.dataset.from].includes(String(index)));
    }
    const step = (number, action, other) => make("li", {},
      make("a", { href: link(shown.name, other + 1) }, `${action} ${number} state ${other + 1}`));
    const out = one.edges.filter(([from]) => from === index);
    const into = one.edges.filter(([, to]) => to === index);
    fill("viewer-state", [make("h3", {}, `State ${at}`),
      stateTable(one.states[index], null, []),
      make("h3", {}, "Steps from it"),
      make("ul", {}, ...out.map(([, to, action]) => step("leads to", action, to))),
      make("h3", {}, "Steps to it"),
      make("ul", {}, ...into.map(([from, , action]) => step("comes from", action, from)))]);
    fill("viewer-source", []);
    byId("viewer-live").textContent = `State ${at}: ${line(one.states[index])}`;
  }

  /* Addresses. */

  function go(at) {
    if (at < 1 || at > shown.last) return;
    history.replaceState(null, "", link(shown.name, at));
    show(at);
  }

  function arrive() {
    const [, named, step] = /^#(.*?)(?:\/(\d+))?$/.exec(location.hash) || [];
    let name = "";
    try {
      name = decodeURIComponent(named || "");
    } catch {
      return;
    }
    const place = byId(name);
    const trace = step && place?.dataset.trace ? place.dataset.trace : name;
    if (step && open(trace, Number(step))) return;
    if (dialog.open) dialog.close();
    if (place instanceof HTMLDetailsElement) {
      place.open = true;
      for (const part of [place, place.closest(".module")]) if (part) part.hidden = false;
      place.scrollIntoView();
    }
  }

  dialog.addEventListener("close", () => {
    const { opener } = shown || {};
    shown = null;
    if (/\/\d+$/.test(location.hash)) history.replaceState(null, "", location.pathname);
    if (opener instanceof HTMLElement && opener !== document.body) opener.focus();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLInputElement || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const to = { ArrowRight: shown.at + 1, ArrowLeft: shown.at - 1, Home: 1, End: shown.last };
    if (event.key in to) {
      event.preventDefault();
      go(to[event.key]);
    }
  });
  byId("viewer-close").addEventListener("click", () => dialog.close());
  byId("step-first").addEventListener("click", () => go(1));
  byId("step-back").addEventListener("click", () => go(shown.at - 1));
  byId("step-next").addEventListener("click", () => go(shown.at + 1));
  byId("step-last").addEventListener("click", () => go(shown.last));
  addEventListener("resize", () => shown && !shown.isGraph && drawArrows());
  addEventListener("hashchange", arrive);

  /* The search of claims. */

  byId("find")?.addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const module of document.querySelectorAll("#claims .module")) {
      let here = 0;
      for (const claim of module.querySelectorAll("details.claim")) {
        const texts = [claim.id, ...[...claim.querySelectorAll("summary")].map((one) =>
          one.textContent)].join(" ").toLowerCase();
        claim.hidden = !words.every((word) => texts.includes(word));
        here += claim.hidden ? 0 : 1;
      }
      module.hidden = !here;
      count += here;
    }
    byId("found").textContent = `${count} claims`;
  });

  arrive();
})();
