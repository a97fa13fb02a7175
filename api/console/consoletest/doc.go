// Package consoletest is a simulated browser without scripts, with which tests visit the console (the service's web pages for
// people). It keeps cookies, reads pages, fills in forms and follows redirects. Only tests import the package.
//
// Invariants:
//  1. Every received page is checked. It must be HTML with a title, one h1, a language and a Content-Security-Policy that
//     forbids inline scripts. Each form that is posted must contain the session's token.
//  2. A form is sent with the fields that it has on its page, so a test cannot send what a person could not send. Form.Force
//     and Browser.Post are the exceptions.
//
// Callers: the tests of the packages of api/console.
//
// Rejected: a real browser for these tests, because it takes seconds for each page. Package cmd/mizan/browser tests the pages
// in a real browser.
package consoletest
