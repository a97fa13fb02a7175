/** WebCrypto, as browsers and edge runtimes have it. Node gets webcrypto_node.ts, because Node 18 has no global `crypto`. */
export const webcrypto: Crypto = globalThis.crypto;
