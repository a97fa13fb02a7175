import { webcrypto as nodeCrypto } from "node:crypto";

/** WebCrypto in Node, where it is global only since version 19. */
export const webcrypto = nodeCrypto as unknown as Crypto;
