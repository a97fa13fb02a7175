package findings

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Outcome is the result of a rule. The zero value is invalid.
type Outcome uint8

// The outcomes.
const (
	OK Outcome = iota + 1
	Broken
	Skipped
)

// String returns the outcome as it is printed.
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

// The numbers of the rules, which package check explains. A check of one store skips RuleSameAfterReopening. Only a
// crash test, which opens the same store twice, can compare the digests of both openings.
const (
	RuleAnswers            = 1
	RuleTotals             = 2
	RuleStates             = 3
	RuleClaims             = 4
	RuleJournal            = 5
	RuleNotifications      = 6
	RuleCalls              = 7
	RuleCanaries           = 8
	RuleSameAfterReopening = 9

	ruleCount = 9
)

// ruleNames say what each rule checks, in the order of their numbers.
var ruleNames = [ruleCount]string{
	"acknowledged responses are stored as they were given",
	"debits equal credits, and every total is the sum of its postings",
	"the state of every record follows from its events",
	"every claim, list row and number belongs to one record",
	"journals have no gaps, and their hash trees recompute",
	"every notified transition has its delivery",
	"every provider call follows a durable intent",
	"no file holds a text that must not be stored",
	"a reopened store is the same",
}

// MaxDetails is the largest number of details that are printed for a broken rule.
const MaxDetails = 20

// Rule is the result of a check for one of the nine rules.
type Rule struct {
	Number   int
	Outcome  Outcome
	Count    uint64 // number of things that the rule has checked
	Breaches uint64
	Details  []string // the first breaches, one line each
	Note     string   // says which data the rule did not compare; empty if it compared everything
}

// Name returns a sentence that says what the rule checks.
func (r *Rule) Name() string { return ruleNames[r.Number-1] }

// Counts tells how many things of each kind the check has read.
type Counts struct {
	Organizations, Events, Lines, Accounts, Records, Claims uint64

	Copies           uint64 // organizations that were being moved into the store and were not taken over; their rows are not checked
	AccountsInMemory uint64 // accounts that were held in memory; accounts of a single contract are not
	SkippedAnswers   uint64 // lines of the answers file that rule 1 does not compare
	Reread           uint64 // organizations whose checkpoints were compared again, with recomputed checkpoints in memory
}

// Report is the result of a check.
type Report struct {
	Rules  [ruleCount]Rule
	Counts Counts

	// Digest is a hash over the content of the store: the size and the root hash of each journal, and all rows except
	// those that scan.Digest leaves out. If the same store is opened twice, the digest is the same.
	Digest [32]byte
}

// New returns a report in which every rule is ok.
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

// WriteTo prints one line for each rule, followed by the rule's Note and the first breaches.
func (r *Report) WriteTo(out io.Writer) (int64, error) {
	counter := &countingWriter{out: out}
	w := bufio.NewWriter(counter)
	for i := range r.Rules {
		rule := &r.Rules[i]
		_, _ = fmt.Fprintf(w, "rule %d %v %d %s\n", rule.Number, rule.Outcome, rule.Count, rule.Name()) // Flush returns the error
		if rule.Note != "" {
			_, _ = fmt.Fprintf(w, "  %s\n", rule.Note)
		}
		for _, detail := range rule.Details {
			_, _ = fmt.Fprintf(w, "  %s\n", detail)
		}
		if remaining := rule.Breaches - uint64(len(rule.Details)); remaining > 0 {
			_, _ = fmt.Fprintf(w, "  and %d more\n", remaining)
		}
	}
	err := w.Flush()
	return counter.written, err
}

// ruleJSON is the result of a rule in the JSON output.
type ruleJSON struct {
	Rule     int      `json:"rule"`
	Outcome  string   `json:"outcome"` // as Outcome.String
	Count    uint64   `json:"count"`
	Name     string   `json:"name"`
	Note     string   `json:"note,omitempty"`
	Breaches uint64   `json:"breaches"`
	Details  []string `json:"details,omitempty"`
}

// WriteJSON prints a JSON object for each rule, each on one line.
func (r *Report) WriteJSON(out io.Writer) (int64, error) {
	counter := &countingWriter{out: out}
	encoder := json.NewEncoder(counter)
	encoder.SetEscapeHTML(false)
	for i := range r.Rules {
		rule := &r.Rules[i]
		err := encoder.Encode(ruleJSON{rule.Number, rule.Outcome.String(), rule.Count, rule.Name(), rule.Note, rule.Breaches, rule.Details})
		if err != nil {
			return counter.written, err
		}
	}
	return counter.written, nil
}

type countingWriter struct {
	out     io.Writer
	written int64 // number of bytes written
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.out.Write(b)
	c.written += int64(n)
	return n, err
}

// Skip marks a rule as not checked.
func (r *Report) Skip(rule int) { r.Rules[rule-1].Outcome = Skipped }

// Count adds to the number of things that a rule has checked.
func (r *Report) Count(rule int, n uint64) { r.Rules[rule-1].Count += n }

// Breach marks a rule as broken. If there is room for another detail, it adds the detail as one line.
func (r *Report) Breach(rule int, format string, args ...any) {
	result := &r.Rules[rule-1]
	result.Outcome = Broken
	result.Breaches++
	if len(result.Details) < MaxDetails {
		result.Details = append(result.Details, oneLine(fmt.Sprintf(format, args...)))
	}
}

// maxDetailBytes bounds the length of a detail.
const maxDetailBytes = 400

// oneLine returns a text without control characters, of bounded length.
func oneLine(s string) string {
	line := make([]byte, 0, min(len(s), maxDetailBytes))
	for i := range len(s) {
		if len(line) == maxDetailBytes {
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

// ErrInput is the error if the file of responses or the canary file can't be read, if the organization to check does
// not exist, or if the keyring belongs to another store.
var ErrInput = errors.New("input")
