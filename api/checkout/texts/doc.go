// Package texts has the texts of the payers' pages in every language of the service. What is the same on all pages, how a
// language writes amounts, numbers and times, is in api/web/locale.
//
// A language is one file, catalog/LANG.json. English is the master copy.
//
// Invariants:
//  1. The program does not start, and its build fails, if a language has no catalog, or locale.Load finds a fault in one.
//  2. Texts are plain text. They have no markup, and html/template escapes them.
//
// Callers: api/checkout and api/checkout/page.
//
// Rejected: texts in the templates. Each language would need its own copy of every page, and nothing could tell that a
// text is missing.
package texts
