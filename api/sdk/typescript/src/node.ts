import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";

import type { MizanOptions } from "./mizan.js";
import type { Transport } from "./transport.js";

/** How nodeTransport connects. */
export interface NodeTransportOptions {
  /** PEM certificates of the only authorities that are trusted, such as the sandbox's `data/tls/ca.pem`. Without it Node's own list counts. */
  ca?: string | Uint8Array;
}

/**
 * Returns a transport on Node's own HTTP client. Unlike `fetch`, it can trust an authority of your own without the variable
 * NODE_EXTRA_CA_CERTS, which concerns the whole process. Connections stay open for further requests; they don't keep a process alive.
 */
export function nodeTransport(options: NodeTransportOptions = {}): Transport {
  const ca = options.ca instanceof Uint8Array ? Buffer.from(options.ca) : options.ca;
  const agents = { "https:": new https.Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) }), "http:": new http.Agent({ keepAlive: true }) };
  return ({ method, url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const isTLS = url.startsWith("https:");
      const length = body !== undefined || method !== "GET" ? { "content-length": String(body?.length ?? 0) } : {};
      const agent = agents[isTLS ? "https:" : "http:"];
      const request = (isTLS ? https : http).request(url, { method, headers: { ...headers, ...length }, agent, signal }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject); // also if the connection breaks within the body
        response.on("end", () => {
          resolve({
            status: response.statusCode ?? 0,
            header: (name) => {
              const value = response.headers[name];
              return Array.isArray(value) ? value.join(", ") : value;
            },
            text: Buffer.concat(chunks).toString("utf8"),
          });
        });
      });
      request.on("error", reject);
      request.end(body);
    });
}

/**
 * Returns the options of a client from the variables MIZAN_URL, MIZAN_API_KEY and MIZAN_ORGANIZATION_ID. If MIZAN_CA_FILE is set, only the
 * authorities in that file are trusted.
 */
export function optionsFromEnvironment(environment: NodeJS.ProcessEnv = process.env): MizanOptions {
  const variable = (name: string): string => {
    const value = environment[name];
    if (!value) throw new TypeError(`the variable ${name} is not set`);
    return value;
  };
  const file = environment["MIZAN_CA_FILE"];
  return {
    url: variable("MIZAN_URL"),
    apiKey: variable("MIZAN_API_KEY"),
    organizationId: variable("MIZAN_ORGANIZATION_ID"),
    transport: nodeTransport(file ? { ca: readFileSync(file) } : {}),
  };
}
