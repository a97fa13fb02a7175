import type { ErrorCode } from "./generated/partner_types.js";

/** The base of all errors that this package throws, except a TypeError or RangeError for a wrong argument. */
export class MizanError extends Error {
  override name = "MizanError";
}

/** A field of a request that the server did not accept. */
export interface WrongField {
  /** The field, or the path of a nested one: `overdraft_limit.0.network`; empty if the server named none. */
  field: string;
  /** What is wrong, for people. */
  detail: string;
}

/** The server answered that it has not carried out the request. */
export class ApiError extends MizanError {
  override name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  /** The reason, for programs. The page `/docs/errors` of the server says what each means. Empty if a proxy answered. */
  readonly code: ErrorCode | "";
  /** The wrong fields of a request, with status 422. */
  readonly fields: readonly WrongField[];
  /** The id by which the server's log knows the request. */
  readonly requestId: string | undefined;
  /** After how many seconds the server asks for a repetition. */
  readonly retryAfter: number | undefined;
  /** The key of a write, with which it can be repeated after a status of 500 and more: then it is not known whether it was carried out. */
  readonly idempotencyKey: string | undefined;

  /** @param text the body of the response */
  constructor(status: number, text: string, info: { requestId: string | undefined; retryAfter: number | undefined; idempotencyKey: string | undefined }) {
    const refusal = readRefusal(text);
    const { requestId } = info;
    super(`${status} ${refusal.message || refusal.code || "without an explanation"}${requestId ? ` (request ${requestId})` : ""}`);
    this.status = status;
    this.code = refusal.code as ErrorCode | "";
    this.fields = refusal.fields;
    this.requestId = requestId;
    this.retryAfter = info.retryAfter;
    this.idempotencyKey = info.idempotencyKey;
  }
}

/**
 * No response arrived, or only a part of one, or one that is not of the API: whether the request was carried out is not known. Send a write again with the same
 * `idempotencyKey`, or a create with the same `txid`. The request's key is here so that it can be repeated later.
 */
export class ConnectionError extends MizanError {
  override name = "ConnectionError";
  readonly idempotencyKey: string | undefined;

  constructor(message: string, cause: unknown, idempotencyKey: string | undefined) {
    super(message, { cause });
    this.idempotencyKey = idempotencyKey;
  }
}

interface Refusal {
  code: string;
  message: string;
  fields: WrongField[];
}

/** Reads the forms in which the server refuses: {errors}, {error, message}, {error, details} and {error}. */
function readRefusal(text: string): Refusal {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { code: "", message: "", fields: [] };
  }
  if (typeof body !== "object" || body === null) return { code: "", message: "", fields: [] };
  const { error, message, errors, details } = body as Record<string, unknown>;
  const fields: WrongField[] = [];
  let code = typeof error === "string" ? error : "";
  if (Array.isArray(errors)) {
    for (const problem of errors as Record<string, unknown>[]) {
      code ||= String(problem["code"] ?? "");
      fields.push({ field: String(problem["field"] ?? ""), detail: String(problem["detail"] ?? "") });
    }
  } else if (typeof details === "object" && details !== null) {
    for (const [field, messages] of Object.entries(details)) {
      for (const detail of Array.isArray(messages) ? messages : [messages]) fields.push({ field, detail: String(detail) });
    }
  }
  const explanation = typeof message === "string" ? message : fields.map((f) => (f.field ? `${f.field}: ${f.detail}` : f.detail)).join("; ");
  return { code, message: explanation, fields };
}
