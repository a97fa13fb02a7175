// Package visit handles a request of a person who is signed in to the console (the web pages below /console/). For each
// request, a Visit holds the person, the language of the page, the posted form and the response. It calls the API on the
// person's behalf.
//
// Invariants:
//  1. A page reads and writes only through the routes of the API. It sends them internal requests (web.Internal) for the
//     person's session, and the routes decide what the person may do.
//  2. A posted form is refused if it does not have the session's CSRF token. It is also refused if the browser says that the
//     form comes from a page of another site.
//  3. A person is redirected only to pages of the console. Without a session, a person is redirected to the login page, and
//     after the login to the requested page.
//  4. No response may be cached or framed. The Referer header does not disclose the address of a page to other sites.
//  5. The server limits the number of commands and reads that run at once; further ones wait. The internal requests of a page
//     count towards these limits, but the request for the page itself does not. If it did, its internal requests could wait for
//     the page to end, while the page waits for them.
//
// Callers: api/console and the packages of its areas (such as auditor).
//
// Rejected: handlers that call actors and the journal. There would be a second way to the data, with separate access rules.
package visit
