// Package browser tests the payers' pages, the console (the website for the service's users) and the API reference in a real
// browser, Chromium. It contains only tests. The tests start the real binary with a sandbox and use the pages as people do:
// with a mouse, with the keyboard alone, with and without scripts, on screens of several widths, and in languages written from
// left to right and from right to left.
//
// Invariants:
//  1. The tests run only if the environment variable MIZAN_TEST_BROWSER contains the path of the browser. `make browser` sets
//     it. Tests in other packages need no browser.
//  2. No test depends on the wording of a page. Tests find buttons and fields by their names and values, and read statuses and
//     balances from the API.
//  3. No test waits for a fixed time. Each test waits for what the browser reports, within a time limit.
//  4. Every fault on a page makes a test fail. There is no list of accepted faults.
//  5. The tests change the committed screenshots and docs/gallery.md only if they run with the flag -update.
//
// Callers: none; `make browser` runs the tests.
//
// Rejected: Another design would compare new screenshots with the committed screenshots. It was not chosen because fonts differ
// between machines, so such a test could fail although nothing is wrong.
package browser
