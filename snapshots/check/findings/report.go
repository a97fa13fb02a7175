package findings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Outcome is what became of a rule. The zero value is invalid.
type Outcome uint8

// The outcomes.
const (
	OK Outcome = iota + 1
	Broken
	Skipped
)

// String is the outcome as it is printed.
func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case Broken:
		return "FAIL"
	case Skipped:
		return "skipped"
	}
	return "invalid"
}

// The numbers of the rules (RELIABILITY, "The checker").
const (
	RuleAnswers  = 1
	RuleTotals   = 2
	RuleStates   = 3
	RuleClaims   = 4
	RuleJournal  = 5
	RuleNotified = 6
	RuleCalls    = 7
	RuleCanaries = 8
	RuleReopened = 9

	rules = 9
)

// MaxDetails bounds the lines printed beneath a broken rule.
const MaxDetails = 20

// Rule is what was found about one rule.
type Rule struct {
	Number   int
	Outcome  Outcome
	Count    uint64 // things looked at
	Breaches uint64
	Details  []string // of the first breaches
	Note     string   // what was not looked at; empty: nothing is to be said
}

// Counts say how much there was to check.
type Counts struct {
	Organizations, Events, Lines, Accounts, Records, Claims uint64

	KeptAccounts   uint64 // of Accounts, those that were held in memory: contracts' own are not
	SkippedAnswers uint64 // lines of the answers file about what rule 1 does not compare
	Reread         uint64 // organizations whose checkpoints were read a second time, with the totals of all accounts
}

// Report is what a check found.
type Report struct {
	Rules  [rules]Rule
	Counts Counts

	// Digest is a hash over what the store means: heads of journals, records,
	// pages, daybooks, claims, counters, lists, sealed rows and KVs. Opening
	// twice gives the same one.
	Digest [32]byte
}

func New() *Report {
	r := new(Report)
	for i := range r.Rules {
		r.Rules[i] = Rule{Number: i + 1, Outcome: OK}
	}
	return r
}

// Broken tells whether any rule is broken.
func (r *Report) Broken() bool {
	for i := range r.Rules {
		if r.Rules[i].Outcome == Broken {
			return true
		}
	}
	return false
}

// WriteTo prints a line a rule, beneath it what it did not look at, and beneath a broken
// one its first breaches.
func (r *Report) WriteTo(out io.Writer) (int64, error) {
	counted := &counting{to: out}
	w := bufio.NewWriter(counted)
	for i := range r.Rules {
		rule := &r.Rules[i]
		_, _ = fmt.Fprintf(w, "rule %d %v %d\n", rule.Number, rule.Outcome, rule.Count) // Flush has the error
		if rule.Note != "" {
			_, _ = fmt.Fprintf(w, "  %s\n", rule.Note)
		}
		for _, detail := range rule.Details {
			_, _ = fmt.Fprintf(w, "  %s\n", detail)
		}
		if more := rule.Breaches - uint64(len(rule.Details)); more > 0 {
			_, _ = fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
	err := w.Flush()
	return counted.n, err
}

type counting struct {
	to io.Writer
	n  int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// Skip says that a rule was not looked at.
func (r *Report) Skip(rule int) { r.Rules[rule-1].Outcome = Skipped }

// Count adds to what a rule has looked at.
func (r *Report) Count(rule int, n uint64) { r.Rules[rule-1].Count += n }

// Breach notes that a rule is broken, in one line.
func (r *Report) Breach(rule int, format string, args ...any) {
	broken := &r.Rules[rule-1]
	broken.Outcome = Broken
	broken.Breaches++
	if len(broken.Details) < MaxDetails {
		broken.Details = append(broken.Details, oneLine(fmt.Sprintf(format, args...)))
	}
}

// maxDetail bounds a detail's length in bytes.
const maxDetail = 400

func oneLine(s string) string {
	line := make([]byte, 0, min(len(s), maxDetail))
	for i := range len(s) {
		if len(line) == maxDetail {
			break
		}
		c := s[i]
		if c < ' ' || c > '~' {
			c = '?'
		}
		line = append(line, c)
	}
	return string(line)
}

// ErrInput marks a file of answers or canaries that can't be read, an organization
// that is not there, and another store's keyring.
var ErrInput = errors.New("input")
