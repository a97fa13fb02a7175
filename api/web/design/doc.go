// Package design defines the design tokens (named style values) for all pages of the service. They are custom properties of
// CSS: colors for light and dark mode, sizes, distances and fonts. The payers' pages and the console (the pages for users)
// build their styles on these tokens.
//
// Invariants:
//  1. A color, font size or distance that two pages share is defined here once.
//  2. Text has a contrast of at least 4.5 to 1 against the backgrounds --ground and --surface, in light and in dark mode. Marks
//     and the borders of form fields have a contrast of at least 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11).
//  3. A merchant's brand replaces only the colors of buttons, by --brand and --on-brand.
//
// Callers: api/checkout/page and api/console/view.
//
// Rejected: another design would have one style sheet for all pages. It was not chosen because the two kinds of pages
// load their styles differently: a payer's page has an inline style, so that it needs no second request, while the
// console has a style sheet in a file, which browsers cache.
package design

import _ "embed" // the tokens are in a CSS file, so that editors recognize the language

// Tokens is the CSS with the design tokens.
//
//go:embed tokens.css
var Tokens string
