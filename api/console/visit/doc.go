// Package visit handles a request of a person who is signed in to the console (the web pages below /console/). For
// each request it holds the person, the language of the page, the posted form and the response, and calls the API on
// the person's behalf.
//
// Invariants:
//  1. A page reads and writes only through the routes of the API, by internal requests (web.Internal) for the person's session.
//     The routes decide what the person may do.
//  2. A form has an effect only if it has the CSRF token of the session's pages. A form has no effect if the browser
//     says that a page of another site has sent it.
//  3. A person is redirected only to pages of the console. A request without a session is redirected to the login,
//     and after the login to the page that was requested.
//  4. No response may be cached or framed. No page's address is disclosed in a Referer header.
//  5. The server bounds how many commands and reads run at once; further ones wait. Only the internal requests of a page count
//     towards these bounds. The route of the page itself does not count. Otherwise its internal requests could wait until the
//     page ends, while the page waits for them.
//
// Callers: api/console and the packages of its areas (such as auditor).
//
// Rejected: another design would let the handlers call actors and the journal. It was not chosen because there would
// be a second way to the data, with separate access rules.
package visit
