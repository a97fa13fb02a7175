package contract

import (
	"strings"
	"unicode"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Outcome is the result of a screening or of one rule. A screening checks by rules whether an asset or a transaction may be
// financed.
type Outcome string

// The outcomes.
const (
	Passed      Outcome = "pass"
	Failed      Outcome = "fail"
	NeedsReview Outcome = "review" // information is missing, so a person has to decide
)

// Outcomes lists the outcomes.
var Outcomes = []Outcome{Passed, Failed, NeedsReview}

// ScreenEvent is the name of the only event that a screening has. The event's state is the Outcome.
const ScreenEvent = "screen"

// RulesetVersion is the version of the rules below. Each screening stores the version by which it was made, because new
// rules do not apply to earlier screenings.
const RulesetVersion = 1

// The codes of the rules.
const (
	ruleSector       = "sector"
	ruleDebtRatio    = "debt_ratio"
	ruleImpureIncome = "impure_income_ratio"
	ruleCompleteness = "complete"
)

// excludedSectors lists the sectors that may not be financed. If a sector's name has several words, an underscore joins
// them here.
var excludedSectors = []string{
	"alcohol", "tobacco", "pork", "gambling", "conventional_finance", "conventional_insurance", "weapons", "adult_entertainment",
}

// The largest percentages of debt and of impure income that a company may have.
const (
	maxDebtPercent   = 30
	maxImpurePercent = 5
)

// ScreeningInput describes the asset or transaction that is screened. A blank text counts as missing.
type ScreeningInput struct {
	Subject     string // "asset" or "transaction"
	Region      string
	AssetType   string
	Activity    string
	Description string
	Amount      money.Amount
	HasAmount   bool
	Currency    string
	Debt        string // percentage of debt, as written in the request, possibly with decimals; empty if unknown
	Impure      string // percentage of impure income, written like Debt
}

// Finding is the result of one rule.
type Finding struct {
	Code    string
	Outcome Outcome
	Detail  string
}

// Screening is the record of one screening, with its input and its result. It is stored once and never changes.
type Screening struct {
	ID       ledger.ID      `json:"-"`
	Input    ScreeningInput `json:"given"`
	Decision Outcome        `json:"decision"`
	Findings []Finding      `json:"findings"`
	Ruleset  int            `json:"ruleset"`
	At       ledger.Micros  `json:"at"`
}

// NewScreening screens an input and returns the record of the screening.
func NewScreening(id ledger.ID, input ScreeningInput, instant ledger.Micros) Screening {
	screening := Screening{ID: id, Input: input, Ruleset: RulesetVersion, At: instant}
	screening.Decision, screening.Findings = Screen(&input)
	return screening
}

// Screen applies the rules. A screening never replaces the approval of a contract by a board.
func Screen(input *ScreeningInput) (decision Outcome, findings []Finding) {
	findings = []Finding{input.checkSector(), checkRatio(ruleDebtRatio, input.Debt, maxDebtPercent), checkRatio(ruleImpureIncome, input.Impure, maxImpurePercent), input.checkComplete()}
	decision = Passed
	for _, f := range findings {
		switch {
		case f.Outcome == Failed:
			return Failed, findings
		case f.Outcome == NeedsReview:
			decision = NeedsReview
		}
	}
	return decision, findings
}

// checkSector searches the texts for the names of excluded sectors. It compares whole words and ignores case and
// punctuation, so "alcohol-based" names a sector but "non-alcoholic" does not. An invisible character may split a word or
// separate two words, so checkSector searches each text twice: without invisible characters, and with spaces in their
// place.
func (s *ScreeningInput) checkSector() Finding {
	for _, text := range []string{s.AssetType, s.Activity, s.Description} {
		wordsWithoutInvisible, wordsWithSpaces := wordsOf(text, -1), wordsOf(text, ' ')
		for _, sector := range excludedSectors {
			if name := strings.Split(sector, "_"); containsWords(wordsWithoutInvisible, name) || containsWords(wordsWithSpaces, name) {
				return Finding{ruleSector, Failed, "the sector " + sector + " is excluded"}
			}
		}
	}
	return Finding{ruleSector, Passed, "no excluded sector is named"}
}

// The full-width characters look like ASCII characters. These are the first and the last of them, and the difference of
// their code points from those of the ASCII characters.
const (
	fullWidthFirst  = '\uFF01'
	fullWidthLast   = '\uFF5E'
	fullWidthOffset = fullWidthFirst - '!'
)

// wordsOf returns the words of a text in lower case. It replaces each invisible character by the replacement. If the
// replacement is -1, it removes them.
func wordsOf(text string, replacement rune) []string {
	folded := strings.Map(func(r rune) rune {
		switch {
		case schema.IsIgnorable(r):
			return replacement
		case r >= fullWidthFirst && r <= fullWidthLast:
			r -= fullWidthOffset
		}
		return unicode.ToLower(r)
	}, text)
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// containsWords tells whether the words of a phrase occur in words, one directly after the other.
func containsWords(words, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(words); i++ {
		matches := true
		for k := range phrase {
			matches = matches && words[i+k] == phrase[k]
		}
		if matches {
			return true
		}
	}
	return false
}

// checkRatio compares a percentage with a bound. An unknown percentage passes.
func checkRatio(code, text string, maxPercent int64) Finding {
	if text == "" {
		return Finding{code, Passed, "not given"}
	}
	integer, fraction, _ := strings.Cut(text, ".")
	percent, err := money.Parse(integer)
	bound := amountOf(maxPercent)
	if err != nil || bound.Less(percent) || percent == bound && strings.Trim(fraction, "0") != "" {
		return Finding{code, Failed, "is more than " + bound.String() + " percent"}
	}
	return Finding{code, Passed, "is at most " + bound.String() + " percent"}
}

// checkComplete checks that no information is missing. Every subject needs a region. An asset also needs a type or a
// description. A transaction also needs an activity and an amount.
func (s *ScreeningInput) checkComplete() Finding {
	var missing []string
	if schema.IsBlank(s.Region) {
		missing = append(missing, "region")
	}
	if s.Subject == "asset" {
		if schema.IsBlank(s.AssetType) && schema.IsBlank(s.Description) {
			missing = append(missing, "asset_type or description")
		}
	} else {
		if schema.IsBlank(s.Activity) {
			missing = append(missing, "activity")
		}
		if !s.HasAmount {
			missing = append(missing, "amount")
		}
	}
	if len(missing) > 0 {
		return Finding{ruleCompleteness, NeedsReview, "missing: " + strings.Join(missing, ", ")}
	}
	return Finding{ruleCompleteness, Passed, "everything that is needed was given"}
}
