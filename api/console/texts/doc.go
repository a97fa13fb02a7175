// Package texts has the texts that all pages of the console (the website for the service's users) share, in each
// language of the console. An area is a group of pages with a package of its own; that package has the texts of only
// its pages. Package api/web/locale formats amounts, numbers and times.
//
// A language is one file, catalog/LANG.json. English is the master copy.
//
// Invariants:
//  1. Neither the program nor its tests start if a language has no catalog, or if locale.Load finds a fault in a catalog.
//  2. Texts are plain text. They have no markup, and html/template escapes them.
//  3. The languages are those that a user can choose (directory.ConsoleLanguages).
//
// Callers: the packages of api/console.
//
// Rejected: Another design would have one catalog for the whole console. It was not chosen because areas change
// independently, and a text is easier to find beside its page.
package texts
