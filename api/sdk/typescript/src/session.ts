import type { ConnectionOptions, RequestOptions } from "./client.js";
import { SessionOperations } from "./generated/session.js";
import { OpenOperations } from "./generated/open.js";

export type * from "./generated/session_types.js";

/** How the client of a person connects. */
export interface SessionOptions extends ConnectionOptions {
  /** The token of a session, which begins with `mzs_`. */
  token: string;
  /** The organization to which the session belongs. */
  organizationId: string;
}

/** How a person logs in. */
export interface LogInOptions extends ConnectionOptions {
  organizationId: string;
  login: string;
  pass: string;
}

/** The client of a person who has logged in: the ledger, contracts, and what else the person's roles allow. */
export class Session extends SessionOperations {
  /** The token, with which another process can continue the session. */
  readonly token: string;

  constructor(options: SessionOptions) {
    super(options, { authorization: `Bearer ${options.token}`, "x-organization-id": options.organizationId });
    this.token = options.token;
  }

  /** Logs in with login and password. A login is never repeated by itself. */
  static async logIn(options: LogInOptions, request?: RequestOptions): Promise<Session> {
    const { token } = await new LogIn(options).logIn({ login: options.login, pass: options.pass }, request);
    return new Session({ ...options, token });
  }
}

class LogIn extends OpenOperations {
  constructor(options: LogInOptions) {
    super(options, { "x-organization-id": options.organizationId });
  }
}
