import { webcrypto } from "#webcrypto";
import { ApiError, ConnectionError } from "./errors.js";
import { decode, encode, type Shape } from "./json.js";
import { type Page, Pages } from "./pages.js";
import { fetchTransport, type Transport, type TransportResponse } from "./transport.js";

/** How a client connects, whatever its credential. */
export interface ConnectionOptions {
  /** The address of the server: `https://pay.example`. */
  url: string;
  /** Sends the requests. Without one the runtime's `fetch` does. `nodeTransport` of `@mizan/sdk/node` trusts a CA of your own. */
  transport?: Transport;
  /** How long one attempt may take until its response is complete, in milliseconds: 30000 unless given. */
  timeout?: number;
  /** When requests are repeated. */
  retries?: RetryOptions;
}

/**
 * When requests are repeated: after 408, 429, 500, 502, 503 and 504, and if no response arrives. Reads are repeated, and writes that
 * accept an Idempotency-Key, always with the key of the first attempt: so they are carried out once. No other request is repeated.
 */
export interface RetryOptions {
  /** How often a request is sent at most: 4 unless given; 1 means that nothing is repeated. */
  attempts?: number;
  /** The delay before the second attempt in milliseconds: 500 unless given. It doubles with each attempt, up to 8000. Half of it is random. */
  delay?: number;
  /** The longest `retry-after` in seconds that is waited for: 120 unless given. If the server asks for more, the error is thrown at once. */
  longestWait?: number;
  /** Waits for some milliseconds; tests replace it. */
  wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Returns a random number from 0 to 1; tests replace it. */
  random?: () => number;
}

/** Options of one call. */
export interface RequestOptions {
  /** Ends the call, its attempts and the waiting between them: the call throws the signal's reason. */
  signal?: AbortSignal;
  /**
   * The Idempotency-Key of a write: 1 to 255 printable ASCII characters. Without one each call makes a random key, which makes its own
   * repetitions safe. If the call may be repeated after a crash, choose a key and store it before the call.
   */
  idempotencyKey?: string;
  /** Another time for one attempt, in milliseconds. */
  timeout?: number;
  /** Receives what is known of the response besides its body, before the call returns. */
  onResponse?: (response: ResponseInfo) => void;
}

/** What is known of a response besides its body. */
export interface ResponseInfo {
  status: number;
  /** The id by which the server's log knows the request. */
  requestId: string | undefined;
  /** Whether this is the response to an earlier request with the same Idempotency-Key or `txid`. */
  replayed: boolean;
  /** The first field in which a repeated create differs from the stored transaction. */
  mismatch: string | undefined;
  /** How often the request was sent. */
  attempts: number;
}

/** An operation of the API, as the generated clients know it. */
export interface Operation {
  method: string;
  /** With parameters in braces, which the arguments replace in their order. */
  path: string;
  /** Whether it accepts an Idempotency-Key. */
  keyed?: true;
  /** The member of the body that has the argument. */
  wrap?: string;
  /** The type of a body that is no JSON. */
  form?: "multipart";
  /** Where the amounts of the body are. */
  body?: Shape;
  /** Where the amounts of the response are. */
  response?: Shape;
  /** The member of the response that is returned. */
  unwrap?: string;
  /** The response is a text, and no JSON. */
  text?: true;
}

const retriedStatuses = new Set([408, 429, 500, 502, 503, 504]);
const longestDelay = 8000; // milliseconds

/** Sends operations with a credential. The classes Mizan, Session and Operator have the operations as methods. */
export class Client {
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #transport: Transport;
  readonly #timeout: number;
  readonly #retries: Required<RetryOptions>;

  /** @param headers the credential */
  protected constructor(options: ConnectionOptions, headers: Record<string, string>) {
    const url = new URL(options.url);
    if (url.protocol !== "https:" && url.protocol !== "http:") throw new TypeError(`${options.url} is no address of a server`);
    if (url.username || url.password || url.search || url.hash) throw new TypeError("the address of the server has a user, a query or a fragment");
    this.#origin = url.origin + url.pathname.replace(/\/+$/, "");
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value !== "string" || !/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(value)) throw new TypeError(`the value of ${name} is missing or not printable`);
    }
    this.#headers = headers;
    this.#transport = options.transport ?? fetchTransport();
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = { attempts: 4, delay: 500, longestWait: 120, wait, random: Math.random, ...options.retries };
  }

  /** Sends an operation of which the server answers pages. */
  protected pages<Row, P extends Page<Row>>(operation: Operation, path: readonly (string | number)[], query: object | undefined, options: RequestOptions | undefined): Pages<Row, P> {
    return new Pages<Row, P>((cursor) => this.send<P>(operation, path, undefined, cursor === undefined ? query : { ...query, cursor }, options));
  }

  /** Sends an operation, and again as often as the options allow. */
  protected async send<Result>(
    operation: Operation, path: readonly (string | number)[], argument: unknown, query: object | undefined, options: RequestOptions = {},
  ): Promise<Result> {
    const { signal } = options;
    signal?.throwIfAborted();
    const url = this.#origin + fillPath(operation.path, path) + queryText(query);
    const headers: Record<string, string> = { ...this.#headers, accept: operation.text ? "*/*" : "application/json" };
    const body = bodyOf(operation, argument, headers);
    const key = operation.keyed ? (options.idempotencyKey ?? randomKey()) : undefined;
    if (key !== undefined) {
      if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new TypeError("an Idempotency-Key has 1 to 255 printable ASCII characters");
      headers["idempotency-key"] = key;
    }
    const attempts = operation.method === "GET" || operation.keyed ? this.#retries.attempts : 1;
    for (let attempt = 1; ; attempt++) {
      let failure: ApiError | ConnectionError;
      try {
        const response = await this.#attempt({ method: operation.method, url, headers, body }, signal, options.timeout ?? this.#timeout);
        if (response.status >= 200 && response.status < 300) {
          options.onResponse?.(infoOf(response, attempt));
          return resultOf(operation, response, key) as Result;
        }
        failure = new ApiError(response.status, response.text, { requestId: response.header("x-request-id"), retryAfter: retryAfterOf(response), idempotencyKey: key });
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof NoResponse)) throw error;
        failure = new ConnectionError(`no response from ${this.#origin}: ${messageOf(error.cause)}`, error.cause, key);
      }
      const isRetried = failure instanceof ApiError ? retriedStatuses.has(failure.status) : !isUntrusted(failure.cause);
      const pause = failure instanceof ApiError ? (failure.retryAfter ?? 0) : 0;
      if (!isRetried || attempt >= attempts || pause > this.#retries.longestWait) throw failure;
      await this.#retries.wait(pause * 1000 + this.#delayAfter(attempt), signal);
    }
  }

  /** Returns a delay of which half is random, because clients that were refused together would come back together. */
  #delayAfter(attempt: number): number {
    const delay = Math.min(longestDelay, this.#retries.delay * 2 ** (attempt - 1));
    return delay / 2 + (delay / 2) * this.#retries.random();
  }

  async #attempt(
    request: { method: string; url: string; headers: Record<string, string>; body: Uint8Array | undefined }, signal: AbortSignal | undefined, timeout: number,
  ): Promise<TransportResponse> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => controller.abort(new Error(`no complete response within ${timeout} ms`)), timeout);
    try {
      return await this.#transport({ ...request, signal: controller.signal });
    } catch (error) {
      throw new NoResponse(controller.signal.aborted ? controller.signal.reason : error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** A transport has failed. It keeps faults of this package apart from those of the connection. */
class NoResponse extends Error {
  constructor(cause: unknown) {
    super("no response", { cause });
  }
}

/** Tells whether the server's certificate is not trusted: another attempt would see the same one. */
function isUntrusted(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const { code } = cause as { code?: unknown };
  const isOfCertificate = typeof code === "string" && /^(ERR_TLS_CERT_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_GET_ISSUER_|UNABLE_TO_VERIFY_)/.test(code);
  return isOfCertificate || isUntrusted(cause.cause);
}

function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // fetch says only "fetch failed", and why in the cause.
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}

function infoOf(response: TransportResponse, attempts: number): ResponseInfo {
  return {
    status: response.status,
    requestId: response.header("x-request-id"),
    replayed: response.header("x-idempotent-replay") === "true",
    mismatch: response.header("x-idempotent-mismatch"),
    attempts,
  };
}

function resultOf(operation: Operation, response: TransportResponse, key: string | undefined): unknown {
  if (operation.text) return response.text;
  if (response.status === 204) return undefined;
  let value: unknown;
  try {
    value = decode(response.text, operation.response);
  } catch (error) {
    throw new ConnectionError(`the response with status ${response.status} is no JSON: is the address that of the API?`, error, key);
  }
  return operation.unwrap === undefined ? value : (value as Record<string, unknown>)[operation.unwrap];
}

function retryAfterOf(response: TransportResponse): number | undefined {
  const text = response.header("retry-after");
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Replaces the parameters of a path. A value that would make another path of it is refused. */
function fillPath(path: string, values: readonly (string | number)[]): string {
  let i = 0;
  return path.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const value = String(values[i++] ?? "");
    if (value === "" || value === "." || value === "..") throw new TypeError(`${name} is missing`);
    return encodeURIComponent(value).replaceAll("%3A", ":");
  });
}

function queryText(query: object | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

function bodyOf(operation: Operation, argument: unknown, headers: Record<string, string>): Uint8Array | undefined {
  if (operation.form === "multipart") {
    const { body, type } = multipart(argument as Record<string, Uint8Array>);
    headers["content-type"] = type;
    return body;
  }
  if (argument === undefined && operation.wrap === undefined) return undefined;
  const value = operation.wrap === undefined ? argument : { [operation.wrap]: argument };
  headers["content-type"] = "application/json";
  return new TextEncoder().encode(encode(value, operation.body));
}

/** Makes a body of files. Equal files give equal bytes, because a repeated request must have the same body. */
function multipart(files: Record<string, Uint8Array>): { body: Uint8Array; type: string } {
  const texts = Object.values(files).map((file) => new TextDecoder("latin1").decode(file)); // a boundary is ASCII, as which it is found in any bytes
  let n = 0;
  while (texts.some((text) => text.includes(`mizan-boundary-${n}`))) n++;
  const boundary = `mizan-boundary-${n}`;
  const parts: Uint8Array[] = [];
  const encoder = new TextEncoder();
  for (const [name, file] of Object.entries(files)) {
    parts.push(encoder.encode(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`), file, encoder.encode("\r\n"));
  }
  parts.push(encoder.encode(`--${boundary}--\r\n`));
  const body = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return { body, type: `multipart/form-data; boundary=${boundary}` };
}

function randomKey(): string {
  return Array.from(webcrypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}
