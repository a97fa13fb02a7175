import { webcrypto } from "#webcrypto";
import { MizanError } from "./errors.js";
import { subscriptionEventShape, transactionEventShape } from "./generated/partner_shapes.js";
import type { SubscriptionEvent, TransactionEvent as Envelope } from "./generated/partner_types.js";
import { decode } from "./json.js";

export type { SubscriptionEvent } from "./generated/partner_types.js";

/** A transaction has reached a status. More types may be added: acknowledge those that you don't know. */
export type TransactionEvent = Envelope & { type: Exclude<Envelope["type"], "transaction.test"> };

/** A test that the operator has sent: it is about no transaction. */
export type TestEvent = Omit<Envelope, "type" | "data"> & { type: "transaction.test" };

/** The largest body that is read, in bytes. */
export const maxWebhookBody = 1 << 20;

/** How many seconds the timestamp of a notification may differ from the clock, in either direction. */
export const maxWebhookSkew = 300;

/**
 * What has arrived. A signed event comes from the service. Its `event_id` is the same in every delivery of the event: store it under
 * a unique key, and acknowledge a repetition without doing anything. Anybody can send an unsigned one: it is a hint to read the
 * subscription with your API key.
 */
export type Notification = { signed: true; event: TransactionEvent | TestEvent } | { signed: false; event: SubscriptionEvent };

/** A body that is not accepted. Answer with `status`: 400, 401 or 413. */
export class WebhookError extends MizanError {
  override name = "WebhookError";
  readonly status: 400 | 401 | 413;

  constructor(status: 400 | 401 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

/** The headers of a request: those of `fetch`, or those of Node's `http`. */
export type WebhookHeaders = { get(name: string): string | null } | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Verifies a notification and returns it.
 *
 * @param body the bytes as they arrived: read them before a framework decodes them, because JSON that was parsed and written again
 *   has other bytes
 * @param headers the headers of the request
 * @param secrets your secret, or both secrets while it is being changed
 * @param now the present time in milliseconds
 * @throws WebhookError if the body is not accepted, and TypeError if a secret is empty: anybody could sign with that
 */
export async function verifyWebhook(
  body: Uint8Array | ArrayBuffer, headers: WebhookHeaders, secrets: string | readonly string[], now: number = Date.now(),
): Promise<Notification> {
  const keys = typeof secrets === "string" ? [secrets] : secrets;
  if (keys.length === 0 || keys.some((secret) => typeof secret !== "string" || secret === "")) throw new TypeError("the secret of the webhook is empty");
  if (!(body instanceof Uint8Array) && !(body instanceof ArrayBuffer)) throw new TypeError("the body must be the bytes as they arrived");
  const bytes = new Uint8Array(body instanceof Uint8Array ? body : new Uint8Array(body)); // a copy, which nothing changes while it is verified
  if (bytes.length > maxWebhookBody) throw new WebhookError(413, `the body has more than ${maxWebhookBody} bytes`);
  const text = new TextDecoder().decode(bytes);
  const envelope = parseObject(text);
  if (!Object.hasOwn(envelope, "event_id")) {
    const hint = decode(text, subscriptionEventShape) as { event?: unknown; subscription?: { id?: unknown } | null };
    const id = hint.subscription?.id;
    if (typeof hint.event !== "string" || typeof id !== "string" || id === "") throw new WebhookError(400, "the body has neither an event_id nor a subscription");
    return { signed: false, event: hint as unknown as SubscriptionEvent };
  }
  const stamp = headerOf(headers, "x-webhook-timestamp");
  if (!/^[0-9]{1,12}$/.test(stamp)) throw new WebhookError(401, "there is no timestamp: is a secret set at the service?");
  if (Math.abs(Math.floor(now / 1000) - Number(stamp)) > maxWebhookSkew) throw new WebhookError(401, "the timestamp is more than five minutes off: check the clock");
  const signatures = [headerOf(headers, "x-webhook-signature"), headerOf(headers, "x-webhook-signature-previous")];
  if (!(await isSigned(keys, signatures, stamp, bytes))) throw new WebhookError(401, "no signature fits a secret");
  const { event_id: id, timestamp } = envelope;
  if (typeof id !== "string" || id === "" || timestamp !== Number(stamp)) throw new WebhookError(400, "event_id or timestamp is wrong");
  return { signed: true, event: decode(text, transactionEventShape) as TransactionEvent | TestEvent };
}

/** Tells whether one of the signatures was made with one of the secrets. WebCrypto compares them in constant time. */
async function isSigned(secrets: readonly string[], signatures: readonly string[], stamp: string, body: Uint8Array): Promise<boolean> {
  const prefix = new TextEncoder().encode(`${stamp}.`);
  const signedBytes = new Uint8Array(prefix.length + body.length);
  signedBytes.set(prefix);
  signedBytes.set(body, prefix.length);
  for (const secret of secrets) {
    const key = await webcrypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      if (/^[0-9a-f]{64}$/.test(signature) && (await webcrypto.subtle.verify("HMAC", key, bytesOfHex(signature), signedBytes))) return true;
    }
  }
  return false;
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

/** Returns a header; empty if it is absent or was sent more than once. */
function headerOf(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === "function" ? headers.get(name) : (headers as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WebhookError(400, "the body is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new WebhookError(400, "the body is no JSON object");
  return value as Record<string, unknown>;
}
