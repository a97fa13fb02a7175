// Package form makes the HTML forms of the console (the service's web pages for people) from the fields of the
// API's description. It also converts a posted form to the JSON that the API expects.
//
// Invariants:
//  1. A control has the name that its field has in the API. Dots separate an object's name from a member's, and
//     a list's row has a number, as in overdraft_limit.0.amount. Controls whose names begin with _ belong to
//     the form itself.
//  2. Amounts are in major units, in the format of the page's language. An amount is converted exactly or
//     refused, never rounded. The number of decimal places is that of the amount's currency, which is beside
//     the amount, in an object around it, or in the record. Without a currency, as in the settings of a
//     terminal, amounts are in minor units.
//  3. A form that changes a record sends only the fields whose values differ from those that the form showed.
//  4. A secret is never shown, not even after it was typed and refused.
//  5. Parsing never panics, and its work is bounded by the length of the posted form.
//  6. Every form works without JavaScript: a list has an empty row, and a button that adds one more.
//
// Callers: api/console/resource, admin, contracts and partner.
//
// Rejected: Posting JSON by a script was considered; it was not chosen because the forms would not work without
// the script, and because the server could not show errors beside the fields.
package form
