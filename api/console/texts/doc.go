// Package texts has the texts that all pages of the console (the website for the service's users) share, in each language
// of the console. An area is a group of pages in a package of its own. Texts that only one area needs are in that area's
// package. Package api/web/locale formats amounts, numbers and times.
//
// Each language is one file, catalog/LANG.json. The other languages are translated from English.
//
// Invariants:
//  1. If a language has no catalog, or locale.Load finds a fault in a catalog, neither the program nor its tests start.
//  2. Texts are plain text without markup, and html/template escapes them.
//  3. The languages are those that a user can choose (directory.ConsoleLanguages).
//
// Callers: the packages of api/console.
//
// Rejected: one catalog for the whole console. Areas change independently, and a text is easier to find beside its page.
package texts
