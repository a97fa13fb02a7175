// Package texts has the texts of the payers' pages in every language of the service. Package api/web/locale formats
// the amounts, numbers and times on these pages.
//
// A language is one file, catalog/LANG.json. The other languages are translated from the English file.
//
// Invariants:
//  1. Neither the program nor its tests start if a language has no catalog (the file with its texts), or if
//     locale.Load finds a fault in a catalog.
//  2. Texts are plain text. They have no markup, and html/template escapes them.
//
// Callers: api/checkout and api/checkout/page.
//
// Rejected: another design would put the texts into the templates. It was not chosen because each language would need
// its own copy of every page, and because no check could find a missing text.
package texts
