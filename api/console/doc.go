// Package console serves the console: the web pages below /console/ for partners (merchants), administrators, clients of
// contracts and auditors. It contains the login, the first page and the files that browsers load. The pages for one kind of
// work are an area, and each area has a package of its own. Package visit handles a person's request, and package view renders
// the page.
//
// Invariants:
//  1. Every page is declared as a visit.Page, which lists the roles that may open the page. The method areas returns all pages.
//  2. A session of the console is not valid for the API, and a session of the API is not valid for the console. The
//     directory (actors/directory, which stores users and sessions) keeps the two kinds apart.
//  3. The console calls the API's login route, so a login on the console takes as much work, has the same limits and gets the
//     same refusals as a login on the API.
//  4. A failed login discloses neither whether the login exists nor whether the organization exists.
//
// Callers: package api.
//
// Rejected: a signed session inside the cookie. Such a session could not be ended before it expires.
package console
