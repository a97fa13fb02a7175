// Package locale is how each language of the service writes numbers, amounts, dates and remaining times, and where the texts
// of pages come from: it loads and checks their catalogs.
//
// A language is one file, catalog/LANG.json, with the words of numbers and times, and one row of the table formats, with its
// numbers. The texts of pages are catalogs of the packages that have the pages; Load reads them.
//
// Invariants:
//  1. The program does not start, and its build fails, if a catalog lacks a text, has a key that no other has, lacks
//     a placeholder, or has other plural categories than the language.
//  2. An amount is written with all its digits. It never becomes a float.
//  3. An amount and a short date are written as the Intl objects of browsers write them: testdata/intl.json has their results.
//  4. A value inside a text cannot reorder the words around it: Fill isolates values in texts from right to left, and
//     values from right to left in any text (Unicode Standard Annex 9, U+2068 and U+2069).
//  5. Texts are plain text. They have no markup, and html/template escapes them.
//
// Callers: api/checkout, api/checkout/page and api/checkout/texts.
//
// Rejected: golang.org/x/text/message and number, because they convert amounts to float64, which has too few digits.
// Rejected: github.com/bojanz/currency, whose patterns and signs differ from those of today's browsers in many
// languages; the table of this package is shorter than the exceptions would be.
// Rejected: one catalog for all pages, because route families do not share their texts, and not every family has all languages.
package locale
