import type { ConnectionOptions, RequestOptions } from "./client.js";
import { PartnerOperations } from "./generated/partner.js";
import type { HostedTransaction, Transaction, TransactionCreate } from "./generated/partner_types.js";

/** How a partner's client connects. */
export interface MizanOptions extends ConnectionOptions {
  /** Your API key, which begins with `mzk_`. Whoever has it can pay out your money: it stays on servers. */
  apiKey: string;
  /** The organization to which the key belongs. */
  organizationId: string;
}

/** The client of a partner: a merchant who accepts payments and pays out with an API key. */
export class Mizan extends PartnerOperations {
  constructor(options: MizanOptions) {
    super(options, { "x-api-key": options.apiKey, "x-organization-id": options.organizationId });
  }

  /**
   * Creates a payment or a payout. A transaction that was created has not succeeded yet: read its `status`. Choose a `txid` and store it
   * before the call; a create with the same `txid` makes no second transaction.
   */
  override createTransaction(params: TransactionCreate & { hosted: true }, options?: RequestOptions): Promise<HostedTransaction>;
  override createTransaction(params: TransactionCreate & { hosted?: false | null }, options?: RequestOptions): Promise<Transaction>;
  override createTransaction(params: TransactionCreate, options?: RequestOptions): Promise<Transaction | HostedTransaction>;
  override createTransaction(params: TransactionCreate, options?: RequestOptions): Promise<Transaction | HostedTransaction> {
    return super.createTransaction(params, options);
  }
}
