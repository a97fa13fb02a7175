// Package view renders the pages of the console (the web pages for the users of an organization): the layout with its
// menu, the parts that pages share, and the files that browsers load. The package does not depend on routes or an
// HTTP library. Package visit chooses the page, and sends it to the browser.
//
// Invariants:
//  1. Values are always escaped: all output goes through html/template.
//  2. A page has no inline script and no inline style, and loads only files of this package. If the content of a file
//     changes, so does the file's name.
//  3. Every page works without its scripts. The scripts add keyboard shortcuts, buttons that copy, and parts of pages
//     that load later.
//  4. The menu is one table (menu.go). A person sees only the entries that the person's roles may use, and whose
//     pages exist.
//  5. The style sheet uses only logical directions (start and end), so that right-to-left pages need no style sheet
//     of their own.
//  6. Templates are parsed once, when the program starts. If a template has a fault, the program does not start.
//
// Callers: api/console/visit; the packages of the console's pages, for their templates.
//
// Rejected: a framework that renders pages in the browser. It would need a build step, a weaker
// Content-Security-Policy, and a second representation of every record.
package view
