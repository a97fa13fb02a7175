// Package locale formats numbers, amounts, dates and remaining times in each language of the service. It also loads and checks
// the catalogs with the texts of pages.
//
// A language is defined by one file, catalog/LANG.json, which has the words of numbers and times, and by one row of the table
// formats. The texts of a page are in the catalogs of the package that has the page. Load reads these catalogs.
//
// Invariants:
//  1. Neither the program nor its tests start if a catalog has one of four faults: a missing text, an unknown key, a missing
//     placeholder, or plural categories that differ from those of the language.
//  2. Formatting an amount is exact. An amount never becomes a float.
//  3. Amounts and short dates look as if the Intl objects of browsers had formatted them. testdata/intl.json has the results of
//     these objects.
//  4. A value inside a text cannot reorder the words around it. Fill isolates all values in right-to-left texts, and
//     right-to-left values in any text (Unicode Standard Annex 9, U+2068 and U+2069).
//  5. Texts in catalogs are plain text without markup, and html/template escapes them.
//
// Callers: api/checkout, api/console and the packages below them.
//
// Rejected: The packages message and number of golang.org/x/text were not chosen because they convert amounts to float64, which
// has too few digits. github.com/bojanz/currency was not chosen because its patterns and signs differ from those of today's
// browsers in many languages, and the exceptions would be longer than the table of this package. Another design would have one
// catalog for all pages. It was not chosen because packages do not share their texts, and not every package has all languages.
package locale
