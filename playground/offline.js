// A service worker that keeps the folder's files, so that the page opens without a network. A newer one replaces them.
"use strict";

const kept = "rewrite-probes";
const files = ["./", "index.html", "page.css", "page.js", "run.js", "wasm_exec.js", "rewrite-probes.wasm.gz"];

oninstall = (e) => e.waitUntil(caches.open(kept).then((cache) => cache.addAll(files)).then(() => skipWaiting()));
onactivate = (e) => e.waitUntil(clients.claim());

onfetch = (e) => {
  if (e.request.method !== "GET" || !e.request.url.startsWith(registration.scope)) return;
  e.respondWith((async () => {
    const cache = await caches.open(kept);
    try {
      const fresh = await fetch(e.request);
      if (fresh.ok) await cache.put(e.request, fresh.clone());
      return fresh;
    } catch (offline) {
      return (await cache.match(e.request, { ignoreSearch: true })) ?? Response.error();
    }
  })());
};
