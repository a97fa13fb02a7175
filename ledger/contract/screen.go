package contract

import (
	"strings"
	"unicode"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Outcome is what a rule, or a screening as a whole, comes to.
type Outcome string

// The outcomes.
const (
	Passed   Outcome = "pass"
	Failed   Outcome = "fail"
	Doubtful Outcome = "review" // something is missing: a person has to look
)

// RulesetVersion is the version of the rules below. A screening keeps it: it says
// what was found by them, and is never done again by others.
const RulesetVersion = 1

// Rule codes.
const (
	ruleSector   = "sector"
	ruleDebt     = "debt_ratio"
	ruleImpure   = "impure_income_ratio"
	ruleComplete = "complete"
)

// excluded are the sectors in which nothing is financed, by the words, or words
// behind each other, that name them.
var excluded = []string{
	"alcohol", "tobacco", "pork", "gambling", "conventional_finance", "conventional_insurance", "weapons", "adult_entertainment",
}

// The most, in whole percent, that a company's debt and its impure income may be.
const (
	maxDebt   = 30
	maxImpure = 5
)

// Screened is what is screened: an asset, or a transaction. A text that is blank says
// nothing.
type Screened struct {
	Subject     string // "asset" or "transaction"
	Region      string
	AssetType   string
	Activity    string
	Description string
	Amount      money.Amount
	HasAmount   bool
	Currency    string
	Debt        string // whole or decimal percent, as it was sent; empty: not known
	Impure      string
}

// Finding is what one rule found.
type Finding struct {
	Code    string
	Outcome Outcome
	Detail  string
}

// Screen applies the rules. It never takes the place of a board's approval.
func Screen(s *Screened) (decision Outcome, findings []Finding) {
	findings = []Finding{s.sector(), ratio(ruleDebt, s.Debt, maxDebt), ratio(ruleImpure, s.Impure, maxImpure), s.complete()}
	decision = Passed
	for _, f := range findings {
		switch {
		case f.Outcome == Failed:
			return Failed, findings
		case f.Outcome == Doubtful:
			decision = Doubtful
		}
	}
	return decision, findings
}

// sector looks for the excluded sectors' names as whole words, whatever the case and
// whatever is between them: "non-alcoholic" names none, "alcohol-based" does. A
// character that nobody sees may be within a word, or between two.
func (s *Screened) sector() Finding {
	for _, said := range []string{s.AssetType, s.Activity, s.Description} {
		joined, parted := wordsOf(said, -1), wordsOf(said, ' ')
		for _, sector := range excluded {
			if name := strings.Split(sector, "_"); holds(joined, name) || holds(parted, name) {
				return Finding{ruleSector, Failed, "the sector " + sector + " is excluded"}
			}
		}
	}
	return Finding{ruleSector, Passed, "no excluded sector is named"}
}

// The characters of full width that look like those of ASCII, and how far they are
// from them.
const (
	fullWidthFirst = '\uFF01'
	fullWidthLast  = '\uFF5E'
	fullWidth      = fullWidthFirst - '!'
)

// wordsOf are the words of a text in lower case. What nobody sees is taken for
// another character; -1: it is left out.
func wordsOf(said string, unseen rune) []string {
	folded := strings.Map(func(r rune) rune {
		switch {
		case schema.Ignorable(r):
			return unseen
		case r >= fullWidthFirst && r <= fullWidthLast:
			r -= fullWidth
		}
		return unicode.ToLower(r)
	}, said)
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// holds tells whether the words have others in them, behind each other.
func holds(words, sought []string) bool {
	for i := 0; i+len(sought) <= len(words); i++ {
		same := true
		for k := range sought {
			same = same && words[i+k] == sought[k]
		}
		if same {
			return true
		}
	}
	return false
}

// ratio compares percent with a bound; what is not known passes.
func ratio(code, said string, most int64) Finding {
	if said == "" {
		return Finding{code, Passed, "not given"}
	}
	whole, fraction, _ := strings.Cut(said, ".")
	n, err := money.Parse(whole)
	bound := count(most)
	if err != nil || bound.Less(n) || n == bound && strings.Trim(fraction, "0") != "" {
		return Finding{code, Failed, "is more than " + bound.String() + " percent"}
	}
	return Finding{code, Passed, "is at most " + bound.String() + " percent"}
}

// complete asks for the region and for what is screened: of an asset what it is, of a
// transaction what it is for and how much.
func (s *Screened) complete() Finding {
	var missing []string
	if schema.Blank(s.Region) {
		missing = append(missing, "region")
	}
	if s.Subject == "asset" {
		if schema.Blank(s.AssetType) && schema.Blank(s.Description) {
			missing = append(missing, "asset_type or description")
		}
	} else {
		if schema.Blank(s.Activity) {
			missing = append(missing, "activity")
		}
		if !s.HasAmount {
			missing = append(missing, "amount")
		}
	}
	if len(missing) > 0 {
		return Finding{ruleComplete, Doubtful, "missing: " + strings.Join(missing, ", ")}
	}
	return Finding{ruleComplete, Passed, "everything that is needed was given"}
}
