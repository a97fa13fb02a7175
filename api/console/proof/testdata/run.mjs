// Calls the module named by the first argument. Standard input is a JSON list of calls, [name, arguments…]; the output is a
// list of {result} or {code, values}. An exception that is no Refusal ends the program.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const proof = await import(pathToFileURL(process.argv[2]));
const bytes = base64 => Uint8Array.from(Buffer.from(base64 ?? "", "base64"));
const calls = {
  codes: () => proof.codes,
  parseKey: async text => (await proof.parseKey(text)).text,
  openHead: async (key, signed) => proof.openHead(bytes(signed), await proof.parseKey(key)),
  decodeLeaf: leaf => proof.decodeLeaf(bytes(leaf)),
  proveEvent: async (key, ...rest) => (await proof.proveEvent(await proof.parseKey(key), ...rest)).event,
  proofFile: async (key, ...rest) => proof.proofFile(await proof.proveEvent(await proof.parseKey(key), ...rest)),
  pastedHead: text => Buffer.from(proof.pastedHead(text)).toString("base64"),
  proveExtension: async (keyText, pasted, ...rest) => {
    const key = await proof.parseKey(keyText);
    const { older, newer } = await proof.proveExtension(key, await proof.openHead(proof.pastedHead(pasted), key, "older"), ...rest);
    return [older.size, newer.size];
  },
  differences: (proven, shown) => proof.differences(proven, shown),
  printable: text => proof.printable(text),
  canCheck: () => proof.canCheck(),
  // The rest of the calls run in a browser without web cryptography, or with one that lacks Ed25519.
  withoutCrypto: () => Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true }) && null,
  withoutEd25519: () => {
    const subtle = { digest: (...rest) => web.subtle.digest(...rest), importKey: () => Promise.reject(new DOMException("no", "NotSupportedError")) };
    return Object.defineProperty(globalThis, "crypto", { value: { subtle }, configurable: true }) && null;
  },
};
const web = globalThis.crypto;
const plain = (_, value) => (typeof value === "bigint" ? value.toString() : value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);

const answers = [];
for (const [name, ...rest] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    answers.push({ result: (await calls[name](...rest)) ?? null });
  } catch (fault) {
    if (!(fault instanceof proof.Refusal)) throw fault;
    answers.push({ code: fault.code, values: fault.values });
  }
}
console.log(JSON.stringify(answers, plain));
