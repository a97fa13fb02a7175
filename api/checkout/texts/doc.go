// Package texts contains the texts of the payers' pages, in every language of the service. Package api/web/locale formats the
// amounts, numbers and times on these pages.
//
// The texts of a language are one file, catalog/LANG.json. The English file is the original, and the others are translations.
//
// Invariants:
//  1. If a language has no catalog (the file with its texts), or if locale.Load finds a fault in a catalog, neither the program
//     nor its tests start.
//  2. Texts are plain text without markup, and html/template escapes them.
//
// Callers: api/checkout and api/checkout/page.
//
// Rejected: texts in the templates. Each language would need its own copy of every page, and no check could find a missing
// text.
package texts
