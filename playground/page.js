"use strict";

const $ = (id) => document.getElementById(id);
const say = (text) => { $("said").textContent = text; };

// What a link may hold, in characters: browsers and chats cut longer ones.
const longestLink = 30000;

const example = {
  manifests: `apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    istio-injection: enabled
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1.4
        ports:
        - {name: http, containerPort: 8080}
        readinessProbe:
          httpGet: {path: /ready, port: http}
        livenessProbe:
          tcpSocket: {port: http}
`,
  config: `apiVersion: rewrite-probes.io/v1alpha1
kind: RewriteProbes
metadata:
  name: rewrite-probes
spec:
  istio:
    injectorRewrites: false
`,
};

// program is compiled once; each run gets a memory of its own.
const program = (async () => {
  const packed = await fetch("rewrite-probes.wasm.gz");
  if (!packed.ok) throw new Error(`rewrite-probes.wasm.gz: ${packed.status} ${packed.statusText}`);
  // A server may say that the file is encoded with gzip, and the browser then unpacks it.
  const bytes = new Uint8Array(await packed.arrayBuffer());
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isPacked ? new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")) : new Blob([bytes]).stream();
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
})();

let worker = null;

function stop() {
  worker?.terminate();
  worker = null;
  $("run").disabled = false;
  $("stop").disabled = true;
}

async function run() {
  stop();
  $("run").disabled = true;
  $("stop").disabled = false;
  say("Running.");
  const config = $("config").value;
  const given = config.trim() ? ["--config", "/rewrite-probes.yaml"] : ["--config", "none"];
  const mine = worker = new Worker("run.js");
  const results = {};
  mine.onerror = (e) => { say(`The run failed: ${e.message}`); stop(); };
  mine.onmessage = ({ data }) => {
    if (data.failed) {
      say(`The run failed: ${data.failed}`);
      stop();
    } else if (data.ended) {
      show(results);
      stop();
    } else {
      results[data.name] = data;
    }
  };
  mine.postMessage({
    program: await program,
    stdin: $("manifests").value,
    files: config.trim() ? { "/rewrite-probes.yaml": config } : {},
    runs: {
      check: ["check", ...given, "-"],
      report: ["explain", ...given, "-o", "html", "-"],
      diff: ["--diff", ...given, "-"],
      manifest: [...given, "-"],
    },
  });
}

function show(results) {
  $("output").hidden = false;
  $("report").srcdoc = results.report.stdout || "<p>There is no report. The messages say why.</p>";
  $("diff").replaceChildren(...results.diff.stdout.split("\n").map((line) => {
    const e = document.createElement("span");
    e.className = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    e.textContent = line + "\n";
    return e;
  }));
  $("manifest").textContent = results.manifest.stdout;
  const check = results.check.stdout + results.check.stderr, rewriting = results.manifest.stderr;
  $("messages").textContent = `$ rewrite-probes check -\n${check}\n$ rewrite-probes -\n${rewriting}`;
  const lines = check.trimEnd().split("\n");
  say(lines.at(-1) || "Done.");
}

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    other.setAttribute("aria-selected", other === tab);
    $(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
}

async function pipe(bytes, through) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());
}

// What is behind # is never sent to a server.
async function makeLink() {
  const text = JSON.stringify({ manifests: $("manifests").value, config: $("config").value });
  const packed = await pipe(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const encoded = btoa(Array.from(packed, (b) => String.fromCharCode(b)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  if (encoded.length > longestLink) {
    say(`This input is too long for a link: ${encoded.length} characters of ${longestLink}. Send the files.`);
    return;
  }
  history.replaceState(null, "", "#" + encoded);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. It holds the manifests and the functionConfig.");
  } catch {
    say("The address of this page holds the manifests and the functionConfig now. Copy it.");
  }
}

async function readLink() {
  if (location.hash.length < 2) return false;
  try {
    const encoded = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    const packed = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
    const linked = JSON.parse(new TextDecoder().decode(await pipe(packed, new DecompressionStream("deflate-raw"))));
    $("manifests").value = String(linked.manifests);
    $("config").value = String(linked.config);
    return true;
  } catch {
    say("The link is damaged: what is behind # cannot be read.");
    return false;
  }
}

async function drop(files) {
  const texts = await Promise.all(Array.from(files, (f) => f.text()));
  const manifests = texts.filter((text, n) => {
    if (!/^rewrite-probes\.ya?ml$/.test(files[n].name)) return true;
    $("config").value = text;
    return false;
  });
  if (manifests.length > 0) $("manifests").value = manifests.map((t) => t.replace(/\n?$/, "\n")).join("---\n");
  run();
}

$("run").onclick = run;
$("stop").onclick = () => { stop(); say("Stopped."); };
$("link").onclick = makeLink;
$("example").onclick = () => { Object.assign($("manifests"), { value: example.manifests }); $("config").value = example.config; run(); };
document.onkeydown = (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !$("run").disabled) run(); };
for (const tab of document.querySelectorAll("[role=tab]")) tab.onclick = () => choose(tab);
$("manifests").ondragover = (e) => { e.preventDefault(); $("manifests").classList.add("over"); };
$("manifests").ondragleave = () => $("manifests").classList.remove("over");
$("manifests").ondrop = (e) => {
  e.preventDefault();
  $("manifests").classList.remove("over");
  if (e.dataTransfer.files.length > 0) drop([...e.dataTransfer.files]);
  else $("manifests").value = e.dataTransfer.getData("text");
};
onhashchange = async () => { if (await readLink()) run(); };

(async () => {
  const linked = await readLink();
  try {
    await program;
  } catch (e) {
    say(`The program cannot be loaded: ${e.message}`);
    return;
  }
  $("run").disabled = $("example").disabled = false;
  if (linked) run();
  else say("Ready.");
  // Once loaded, the page works without a network.
  navigator.serviceWorker?.register("offline.js").catch(() => {});
})();
