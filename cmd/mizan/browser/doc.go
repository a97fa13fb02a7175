// Package browser tests the payers' pages, the console (the website for the service's users) and the reference of the
// API in a real browser, Chromium. It has only tests. They start the real binary with a sandbox and use the pages as
// people do: with a mouse, with the keyboard alone, with and without scripts, on screens of several widths, and in
// languages written from left to right and from right to left.
//
// Invariants:
//  1. The tests run only if the environment variable MIZAN_TEST_BROWSER, which `make browser` sets, contains the
//     browser's path. All other tests need no browser.
//  2. No test depends on the wording of a page. Tests find the controls by their names and values, and
//     read statuses and balances from the API.
//  3. No test waits for a fixed time. Each test waits for what the browser reports, within a time limit.
//  4. Every fault of a page fails the tests. There is no list of accepted faults.
//  5. The committed screenshots and docs/gallery.md change only with the flag -update.
//
// Callers: none; `make browser` runs the tests.
//
// Rejected: Another design would compare screenshots with the committed ones. It was not chosen because fonts differ
// between machines, so such a test would fail where nothing is wrong.
package browser
