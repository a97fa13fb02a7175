// Package view renders the pages of the console (the web pages for the users of an organization): the layout with its
// menu, the parts that pages share, and the files that browsers load. It depends on no route and no HTTP library:
// package visit chooses the page and sends it.
//
// Invariants:
//  1. Values are always escaped: all output goes through html/template.
//  2. A page has no inline script and no inline style, and loads only files of this package. A file's name changes
//     with its content.
//  3. Every page works without its scripts. They add shortcuts, copying, and parts that load by themselves.
//  4. The menu is one table (menu.go). A person sees the entries for the person's roles, if their pages exist.
//  5. The style uses logical directions only (start and end), so that right-to-left pages need no style of their own.
//  6. Templates are parsed once, when the program starts. A fault in a template stops the program.
//
// Callers: api/console/visit; the packages of the console's pages (their templates).
//
// Rejected: another design would use a framework that renders in the browser. It was not chosen because it would need
// a build step, a weaker Content-Security-Policy and a second representation of every record.
package view
