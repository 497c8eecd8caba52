// Requests to the JSON API of docs/explorer.md.

const meta = document.querySelector("meta[name=token]");

async function send(path, options) {
  let r;
  try {
    r = await fetch("/api/v1/" + path, { ...options, headers: { Accept: "application/json", ...(options && options.headers) } });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("The server does not answer: is sqlite3perf serve still running?");
  }
  const body = await r.json().catch(() => ({}));
  if (!r.ok) throw new Error(body.error || `The server answered with status ${r.status}.`);
  return body;
}

export const get = (path, signal) => send(path, { signal });

// change sends a request that changes something, with the page's token.
export const change = (method, path, body) => send(path, {
  method,
  headers: { [meta.dataset.header]: meta.content, "Content-Type": "application/json" },
  body: body === undefined ? undefined : JSON.stringify(body),
});
