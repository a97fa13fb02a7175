/** An HTTP request as a transport sends it. */
export interface TransportRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
  /** Aborts the request and the reading of its response. */
  signal: AbortSignal;
}

/** An HTTP response, completely read. */
export interface TransportResponse {
  status: number;
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined;
  text: string;
}

/**
 * Sends one request and reads its response. It throws if no complete response arrives, and it never follows a redirect: the
 * API answers none, and another host must not get the key.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** Returns a transport that uses a function fetch: the runtime's own, unless another one is given. */
export function fetchTransport(fetchFunction: typeof fetch = (input, init) => fetch(input, init)): Transport {
  return async ({ method, url, headers, body, signal }) => {
    const init: RequestInit = { method, headers, signal, redirect: "manual" };
    if (body !== undefined) init.body = body as Uint8Array<ArrayBuffer>;
    const response = await fetchFunction(url, init);
    if (response.type === "opaqueredirect") throw new Error("the server answered with a redirect");
    return { status: response.status, header: (name) => response.headers.get(name) ?? undefined, text: await response.text() };
  };
}
