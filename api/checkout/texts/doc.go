// Package texts has the texts of the payers' pages in every language of the service, and writes amounts, numbers,
// dates and remaining times as each language does.
//
// A language is one file, catalog/LANG.json, with its words, and one row of the table formats, with its numbers.
//
// Invariants:
//  1. The program does not start, and its build fails, if a catalog lacks a text, has a key that no other has, lacks
//     a placeholder, or has other plural categories than the language.
//  2. An amount is written with all its digits. It never becomes a float.
//  3. An amount is written as Intl.NumberFormat of browsers writes it: testdata/intl.json has their results.
//  4. A value inside a text cannot reorder the words around it: Fill isolates values in texts from right to left, and
//     values from right to left in any text (Unicode Standard Annex 9, U+2068 and U+2069).
//  5. Texts are plain text. They have no markup, and html/template escapes them.
//
// Callers: api/checkout and api/checkout/page.
//
// Rejected: golang.org/x/text/message and number, because they convert amounts to float64, which has too few digits.
// Rejected: github.com/bojanz/currency, whose patterns and signs differ from those of today's browsers in many
// languages; the table of this package is shorter than the exceptions would be.
package texts
