package locale

import (
	"slices"

	"golang.org/x/text/feature/plural"
)

// Plural is a text that contains a number. It has a form for each plural category that CLDR defines for the cardinal numbers of
// the language. The other forms are empty. In each form, {n} is replaced by the number.
type Plural struct {
	Zero  string `json:"zero,omitzero"`
	One   string `json:"one,omitzero"`
	Two   string `json:"two,omitzero"`
	Few   string `json:"few,omitzero"`
	Many  string `json:"many,omitzero"`
	Other string `json:"other,omitzero"`
}

// categories are the names of the plural categories, in the order of CLDR.
var categories = []string{"zero", "one", "two", "few", "many", "other"}

// categoryOf maps the plural categories of golang.org/x/text to their names.
var categoryOf = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

// byCategory returns the text for a category, or an empty text if the language does not have the category.
func (p Plural) byCategory(name string) string {
	return []string{p.Zero, p.One, p.Two, p.Few, p.Many, p.Other}[slices.Index(categories, name)]
}

// million is the smallest round number after which languages like French put "de" before the noun.
const million = 1_000_000

// category returns the name of the plural category of n. golang.org/x/text uses the data of CLDR 32. Only later data (CLDR 38)
// has the category for round millions in French and Spanish.
func (f *format) category(n int) string {
	if f.millions && n != 0 && n%million == 0 {
		return "many"
	}
	return categoryOf[plural.Cardinal.MatchPlural(f.tag, n, 0, 0, 0, 0)]
}

// numbersPerCategory returns how many of the numbers 0 to 200 belong to each of the language's categories. If only fractions,
// such as 1.5, or round millions belong to a category, its count is 0.
func (f *format) numbersPerCategory() map[string]int {
	const last = 200
	counts := map[string]int{categoryOf[plural.Cardinal.MatchPlural(f.tag, 1, 1, 1, 5, 5)]: 0, f.category(million): 0}
	for n := range last + 1 {
		counts[f.category(n)]++
	}
	return counts
}

// Count returns the form of the text for n, with the number in the language's digits. A number below zero counts as zero.
func (l *Locale) Count(p Plural, n int) string {
	n = max(n, 0)
	return l.Fill(p.byCategory(l.format.category(n)), "n", l.Number(n))
}
