import type { ConnectionOptions } from "./client.js";
import { OperatorOperations } from "./generated/operator.js";

export type * from "./generated/operator_types.js";

/** How the operator's client connects. */
export interface OperatorOptions extends ConnectionOptions {
  /** The administration token, which begins with `mza_`. */
  adminToken: string;
  /** The organization that is meant. It may be absent if there is only one, and for calls about organizations. */
  organizationId?: string;
}

/** The client of the operator: organizations, partners, terminals, keys, limits, settlements and deliveries. */
export class Operator extends OperatorOperations {
  constructor(options: OperatorOptions) {
    const headers: Record<string, string> = { authorization: `Bearer ${options.adminToken}` };
    if (options.organizationId !== undefined) headers["x-organization-id"] = options.organizationId;
    super(options, headers);
  }
}
