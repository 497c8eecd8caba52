// The explorer. Each page has a view, which fills the page from the JSON API. The address has all
// parameters of a view, so that a link shows the same view again.

import { h } from "./dom.js";
import { runs } from "./runs.js";
import { run } from "./run.js";
import { compare } from "./compare.js";
import { trends } from "./trends.js";
import { measure } from "./measure.js";

const views = { runs, run, compare, trends, measure };
const main = document.getElementById("view");
const view = views[document.body.dataset.view];
let asked = null; // aborts the requests of the view that is being built

// show builds the view that the current address names.
async function show() {
  if (asked) asked.abort();
  const own = (asked = new AbortController());
  main.setAttribute("aria-busy", "true");
  let made;
  try {
    made = await view({ query: new URLSearchParams(location.search), path: location.pathname, signal: own.signal, go });
  } catch (err) {
    if (own.signal.aborted) return;
    made = [h("h1", {}, "This cannot be shown"), h("p", { class: "error", role: "alert" }, err.message)];
  }
  if (own.signal.aborted) return;
  const focused = document.activeElement && document.activeElement.dataset.key;
  main.replaceChildren(...[made].flat(Infinity).filter(Boolean));
  main.dispatchEvent(new Event("shown"));
  performance.mark("shown");
  main.setAttribute("aria-busy", "false");
  const again = focused && [...main.querySelectorAll("[data-key]")].find((e) => e.dataset.key === focused);
  if (again) again.focus({ preventScroll: true });
}

// go shows the current view with other parameters. It leaves out parameters without a value.
function go(parameters, replace) {
  const q = new URLSearchParams();
  for (const [name, value] of parameters) if (value !== "" && value !== null) q.append(name, value);
  const text = q.toString();
  history[replace ? "replaceState" : "pushState"](null, "", location.pathname + (text && "?" + text));
  return show();
}

addEventListener("popstate", show);
show();
