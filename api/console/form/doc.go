// Package form makes the HTML forms of the console (the service's web pages for people) from the fields of the
// API's description. It also converts a posted form to the JSON that the API expects.
//
// Invariants:
//  1. A control has the same name as its field in the API. If the field is inside an object or a list, the name has
//     several parts with dots between them, and a row of a list is a number: overdraft_limit.0.amount. Controls
//     whose names begin with _ belong to the form itself.
//  2. A person enters amounts in major units, in the number format of the page's language. An amount is converted
//     exactly or refused, never rounded. The amount's currency determines the number of decimal places. The
//     currency is a field beside the amount, in an object around it, or in the record. If there is no currency, as
//     in the settings of a terminal, amounts are in minor units.
//  3. A form that changes a record sends only the fields whose values differ from those that the form showed.
//  4. A secret is never shown, not even after it was typed and refused.
//  5. Parsing never panics, and its work is bounded by the length of the posted form.
//  6. Every form works without JavaScript: each list shows an empty row, and a button that adds another row.
//
// Callers: api/console/resource, admin, contracts and partner.
//
// Rejected: a script that posts JSON. The forms would not work without the script, and the server could not show
// errors beside the fields.
package form
