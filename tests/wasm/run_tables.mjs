// SPDX-License-Identifier: BSD-3-Clause
// Shows files by the module of run_tables.c:  node run_tables.mjs MODULE OUT FILE...
// Writes OUT/NAME for each file. The module gets no operating system: every function that it imports throws.

import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [modulePath, out, ...files] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(modulePath));
const imports = {};

for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = () => {
        throw new Error(`${from}.${name} was called`);
    };
}

const { memory, reserve, show, answer_text, _initialize } = new WebAssembly.Instance(module, imports).exports;

_initialize();
for (const file of files) {
    const bytes = readFileSync(file);
    const at = reserve(bytes.length);

    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);

    const length = show(at, bytes.length);

    writeFileSync(join(out, basename(file)), new Uint8Array(memory.buffer, answer_text(), length));
}
