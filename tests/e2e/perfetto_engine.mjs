// SPDX-License-Identifier: BSD-3-Clause
// Perfetto's own engine, as its page runs it in a worker: reads requests from a file, and writes its answers into another.
//
//     node perfetto_engine.mjs DIRECTORY REQUESTS ANSWERS     DIRECTORY has engine_bundle.js and trace_processor.wasm
//
// The last answer contains the text END_OF_ANSWERS.

import fs from "node:fs";
import vm from "node:vm";

const [directory, requests, answers] = process.argv.slice(2);
const read = (url) => fs.readFileSync(`${directory}/${String(url).split("/").pop()}`);
const location = { href: "http://localhost/engine_bundle.js", pathname: "/engine_bundle.js" };

class XMLHttpRequest {
  open(method, url) {
    this.url = url;
  }
  send() {
    const bytes = read(this.url);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
    if (this.onload) setTimeout(() => this.onload(), 0);
  }
}

const fetchFile = async (url) => new Response(read(url), { status: 200, headers: { "content-type": "application/wasm" } });
Object.assign(globalThis, { self: { location }, location, WorkerGlobalScope: class {}, importScripts() {}, fetch: fetchFile, XMLHttpRequest });
vm.runInThisContext(`(function (process, require, module, exports) {${read("engine_bundle.js")}})`)();

const said = [];
const port = { onmessage: null, postMessage: (data) => said.push(Buffer.from(data)) };
self.onmessage({ data: port });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = Date.now() + 60000;
await pause(0); // what is left to be done of its start: until then it writes requests to address 0
await port.onmessage({ data: new Uint8Array(fs.readFileSync(requests)) });
while (!Buffer.concat(said).includes("END_OF_ANSWERS") && Date.now() < until) await pause(20);
fs.writeFileSync(answers, Buffer.concat(said));
process.exit(0);
