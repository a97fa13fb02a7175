// Package partner has the pages that a merchant sees in the console (the web pages for the users of an organization):
// turnover, payments, links and products, subscriptions, balances, notifications and keys. Administrators of the
// organization may also open the pages of payments.
//
// Invariants:
//  1. A partner (a merchant) sees only its own records; the routes of the API enforce this rule. If a partner
//     requests another partner's record, the response is 404, as for an unknown id.
//  2. A secret is shown once, in the response to the form that created it. No address contains a secret.
//  3. The first page reads daily totals (GET /turnover), never payments.
//  4. The chart shows the same figures as the table below the chart. Without JavaScript there is only the table.
//
// Callers: api/console.
//
// Rejected: a first page that reads lists of payments. A merchant with a million payments would have to wait for the
// page.
package partner
