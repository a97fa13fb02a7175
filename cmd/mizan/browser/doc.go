// Package browser tries the payers' pages, and the reference of the API, in a real browser, Chromium. It has only tests,
// which start the real binary with a sandbox and use the pages as people do: with a mouse, with the keyboard alone, with
// and without scripts, on screens of several widths, and in languages written from left to right and from right to left.
//
// Invariants:
//  1. The tests run only if MIZAN_TEST_BROWSER contains the browser's path, which `make browser` sets. All other
//     tests need no browser.
//  2. No test depends on the wording of a page. Tests find the controls by their names and values, and
//     read statuses and balances from the API.
//  3. No test waits for a fixed time: it waits for what the browser reports, within a time limit.
//  4. Every fault of a page fails the tests. There is no list of accepted faults.
//  5. The committed screenshots and docs/gallery.md change only with the flag -update.
//
// Callers: none; `make browser` runs the tests.
//
// Rejected: comparing screenshots with the committed ones. Fonts differ between machines, so such a test would
// fail where nothing is wrong.
package browser
