// Package consoletest lets a test visit the console (the service's web pages for people) as a browser without
// scripts does. It keeps cookies, reads pages, fills in their forms and follows redirects. Only tests import
// it.
//
// Invariants:
//  1. Every received page is checked. It must be HTML with a title, one h1, a language and a Content-Security-Policy that forbids
//     inline scripts. Each form that is posted must have the session's token.
//  2. A form is sent with the fields of the page, so a test cannot send a form that a person could not send.
//     Form.Force is the exception.
//
// Callers: the tests of the packages of api/console.
//
// Rejected: A real browser for these tests was considered; it was not chosen because it takes seconds for each
// page. Package cmd/mizan/browser tests the pages in a real browser.
package consoletest
