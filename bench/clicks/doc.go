// Package clicks simulates people who use the console (the web pages for the users of an organization). Each person
// logs in, opens a page, reads it for about a second and follows one of its links at random.
//
// Invariants:
//  1. A person finds pages by following links from the first page. So a page that is added to the console is visited too,
//     although no list here names it.
//  2. A person only reads: the login form is the only form that is sent.
//  3. A page's time is measured by the client, from before the request until the last byte of the page.
//  4. Times are kept for each kind of page. A kind is a URL path with a placeholder for each id and without the query.
//
// Callers: bench (`mizan bench payments --console`).
package clicks
