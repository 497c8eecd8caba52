// Requests to the JSON API of docs/explorer.md.

// Starting and stopping a run takes a secret. It is at the end of the address that the server
// printed. This script stores it in the browser and removes it from the address.
const key = "sqlite3perf-token";
let token = "";
function take() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  try {
    if (given) localStorage.setItem(key, given);
    token = localStorage.getItem(key) || "";
  } catch { // the browser does not allow storage
    token = given || token;
  }
  if (given) history.replaceState(null, "", location.pathname + location.search);
  return given;
}
take();
addEventListener("hashchange", () => { if (take()) location.reload(); });

async function send(path, options) {
  let r;
  try {
    r = await fetch("/api/v1/" + path, { ...options, headers: { Accept: "application/json", ...(token && { "X-Sqlite3perf-Token": token }), ...(options && options.headers) } });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("The server does not answer: is sqlite3perf serve still running?");
  }
  const body = await r.json().catch(() => ({}));
  if (!r.ok) throw new Error(body.error || `The server answered with status ${r.status}.`);
  return body;
}

export const get = (path, signal) => send(path, { signal });

// change sends a request that changes something on the server, with the body as JSON.
export const change = (method, path, body) => send(path, {
  method,
  headers: { "Content-Type": "application/json" },
  body: body === undefined ? undefined : JSON.stringify(body),
});
