// Package console serves the console: the web pages below /console/ for partners (merchants), administrators, clients
// of contracts and auditors. It has the login, the first page and the files that browsers load. Each area (the pages
// for one kind of work) has a package of its own. Package visit handles a person's request, and package view renders
// the page.
//
// Invariants:
//  1. Every page is declared as data (visit.Page), with the roles that may open the page. The method areas lists all
//     pages.
//  2. A session of the console is not valid for the API, and a session of the API is not valid for the console. The
//     directory (actors/directory, which stores users and sessions) keeps the two kinds apart.
//  3. A login on the console has the same cost, bounds and refusals as a login on the API, because the console calls
//     the API's route.
//  4. A failed login discloses neither whether the login exists nor whether the organization exists.
//
// Callers: package api.
//
// Rejected: another design would keep a signed session inside the cookie. It was not chosen because such a session
// could not be ended before it expires.
package console
