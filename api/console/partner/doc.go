// Package partner has a merchant's pages of the console (the web pages for the users of an organization): turnover,
// payments, links and products, subscriptions, balances, notifications and keys. Administrators of the organization
// may open the pages of payments, too.
//
// Invariants:
//  1. A partner (a merchant) sees only its own records; the routes of the API enforce this rule. A request for
//     another partner's record gets 404, like a request for an unknown id.
//  2. A secret is shown once, in the response to the form that created it. No address contains a secret.
//  3. The first page reads daily totals (GET /turnover), never payments.
//  4. The chart shows the figures of the table below it. Without scripts there is only the table.
//
// Callers: api/console.
//
// Rejected: another design would have a first page that reads lists of payments. It was not chosen because a merchant
// with a million payments would wait for the page.
package partner
