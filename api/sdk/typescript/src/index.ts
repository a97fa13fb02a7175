export { decimalsOf, formatAmount, maxAmount, parseAmount } from "./amounts.js";
export type { ConnectionOptions, RequestOptions, ResponseInfo, RetryOptions } from "./client.js";
export { ApiError, ConnectionError, MizanError, type WrongField } from "./errors.js";
export type * from "./generated/partner_types.js";
export { Mizan, type MizanOptions } from "./mizan.js";
export { type Page, Pages } from "./pages.js";
export { fetchTransport, type Transport, type TransportRequest, type TransportResponse } from "./transport.js";
export {
  maxWebhookBody, maxWebhookSkew, type Notification, type TestEvent, type TransactionEvent, verifyWebhook, WebhookError, type WebhookHeaders,
} from "./webhooks.js";
