package contract

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateReports = flag.Bool("update", false, "rewrite the machines' reports")

// Testdata has a report on each product's state machine in each reading (its secular or religious form), so that
// reviewers see each change of a machine. The report also lists which events move money and which columns are
// sums of postings, because the checker compares the stored entries with both.
func TestTheMachinesReportsAreCommitted(t *testing.T) {
	reports := make(map[string]bool)
	for _, p := range Products {
		for reading, variant := range p.Variants {
			name := reading.Name + "-" + variant.Name + ".txt"
			path := filepath.Join("testdata", name)
			reports[name] = true
			got := p.Machine(reading).Report() + reportOfMovements(p, reading)
			if *updateReports {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || got != string(want) {
				t.Errorf("%s is not the machine's report (%v): run go test -update and review the difference", path, err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !reports[filepath.Base(path)] {
			t.Errorf("%s is not the report of a machine", path)
		}
	}
}

// reportOfMovements returns two tables: whether each event of a product's machine moves money, and the product's
// control totals (columns with a sum of postings).
func reportOfMovements(p *Product, reading *Reading) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-20s  MOVES MONEY\n", "EVENT")
	for _, name := range p.Machine(reading).Events() {
		moves := p.Moves(name).String()
		if moves == Never.String() && needsReview(p, name) {
			moves += ", but only after a required review"
		}
		fmt.Fprintf(&out, "%-20s  %s\n", name, moves)
	}
	out.WriteString("\nCONTROL TOTALS\n")
	for _, total := range p.ControlTotals {
		column, entries := total.Column.Name, "all entries"
		if total.RowColumn != nil {
			column += "." + total.RowColumn.Name
		}
		if total.By != "" {
			entries = "the entries of " + string(total.By)
		}
		fmt.Fprintf(&out, "%s: the %ss of %s by %s\n", column, total.Side, total.Account, entries)
	}
	return out.String()
}

// The checker checks only sums that are declared as control totals. So a product without a control total is a
// mistake, and no other test would find it.
func TestEveryProductHasAControlTotal(t *testing.T) {
	for _, p := range Products {
		if len(p.ControlTotals) == 0 {
			t.Errorf("%s have no Totals: declare the columns with sums of a contract's postings on shared accounts", p.Variants[Secular].Name)
		}
	}
}

// The table has the specification's names of each product in both readings. The investment deposit has no
// URL in the religious reading.
func TestEveryProductHasItsCounterpart(t *testing.T) {
	want := map[string]string{
		"certificate-issues": "sukuk", "managed-investments": "mudaraba", "leases": "ijara", "partnerships": "musharaka",
		"investment-deposits": "", "instalment-sales": "murabaha", "safekeeping-deposits": "wadiah",
	}
	if len(Products) != len(want) {
		t.Errorf("there are %d products; want %d", len(Products), len(want))
	}
	codes, prefixes := make(map[byte]bool), make(map[string]bool)
	for secular, religious := range want {
		p := Find(Secular, secular)
		if p == nil {
			t.Errorf("there is no product %s", secular)
			continue
		}
		if codes[p.Code] {
			t.Errorf("%s are stored with the code of another product", secular)
		}
		codes[p.Code] = true
		for _, variant := range p.Variants {
			if prefixes[variant.Prefix] {
				t.Errorf("two products have the prefix %s", variant.Prefix)
			}
			prefixes[variant.Prefix] = true
		}
		counterpart := p.Variants[Religious]
		switch {
		case religious == "" && counterpart != nil:
			t.Errorf("%s have the religious name %s", secular, counterpart.Name)
		case religious != "" && Find(Religious, religious) != p:
			t.Errorf("%s is not the counterpart of %s", religious, secular)
		}
	}
}

// pathEnd represents all paths through a machine that end in the same state and agree on whether they passed a review.
type pathEnd struct {
	status   Status
	reviewed bool
}

// visitPaths follows the paths of a product's machine in a reading (secular or religious). It calls onStep with each step and
// with the end of the path before that step. All paths with the same pathEnd can be continued in the same ways. So visitPaths
// continues only one of them, and still covers paths of any length.
func visitPaths(p *Product, reading *Reading, onStep func(before pathEnd, step Step)) {
	machine := p.Machine(reading)
	seen := map[pathEnd]bool{}
	queue := []pathEnd{{status: machine.Initial()}}
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		if seen[current] {
			continue
		}
		seen[current] = true
		for _, action := range machine.Events() {
			if step, ok := machine.Next(current.status, action); ok {
				step.By = action
				onStep(current, step)
				queue = append(queue, pathEnd{step.To, current.reviewed || action == Approve})
			}
		}
	}
}

// In the religious reading, no path of the machine reaches a handler that may move money before the path has passed a review.
// Handlers declare that they move money; the random scenarios of the products check that declaration.
func TestNothingMovesMoneyBeforeAReview(t *testing.T) {
	for _, p := range Products {
		for reading, variant := range p.Variants {
			if !reading.ReviewFirst {
				continue
			}
			movingSteps := 0
			visitPaths(p, reading, func(before pathEnd, step Step) {
				if step.By == Create || !needsReview(p, step.By) {
					return
				}
				movingSteps++
				if !before.reviewed {
					t.Errorf("%s: %s is reached from %s without a review", variant.Name, step.By, before.status)
				}
			})
			if movingSteps == 0 {
				t.Errorf("%s: no action moves money", variant.Name)
			}
		}
	}
}

// This checks the same as TestNothingMovesMoneyBeforeAReview in a slower and simpler way: it follows every
// path without a repeated status, one by one.
func TestNoPathMovesMoneyBeforeAReview(t *testing.T) {
	for _, p := range Products {
		for reading, variant := range p.Variants {
			if !reading.ReviewFirst {
				continue
			}
			machine, paths := p.Machine(reading), 0
			var follow func(path []Status, reviewed bool)
			follow = func(path []Status, reviewed bool) {
				paths++
				for _, action := range machine.Events() {
					step, ok := machine.Next(path[len(path)-1], action)
					if !ok {
						continue
					}
					if needsReview(p, action) && !reviewed {
						t.Errorf("%s: %v, then %s", variant.Name, path, action)
					}
					if !slices.Contains(path, step.To) {
						follow(append(slices.Clone(path), step.To), reviewed || action == Approve)
					}
				}
			}
			follow([]Status{machine.Initial()}, false)
			t.Logf("%s: %d paths", variant.Name, paths)
		}
	}
}

// In the secular reading the review is optional: the first action that moves money is possible
// for a new contract, and also after a review if the product has one.
func TestTheSecularReviewIsOptional(t *testing.T) {
	for name, firstAction := range map[string]Action{
		"certificate-issues": Offer, "managed-investments": Fund, "leases": Acquire, "partnerships": Fund, "instalment-sales": OrderAsset,
		"investment-deposits": Activate, "safekeeping-deposits": Activate,
	} {
		p := Find(Secular, name)
		machine := p.Machine(Secular)
		if _, ok := machine.Next(p.States[0], firstAction); !ok {
			t.Errorf("%s: %s is not possible in %s", name, firstAction, p.States[0])
		}
		if !needsReview(p, firstAction) {
			t.Errorf("%s: %s does not say that it needs a review", name, firstAction)
		}
		if !machine.HasState(ReviewPassed) {
			continue
		}
		if _, ok := machine.Next(ReviewPassed, firstAction); !ok {
			t.Errorf("%s: %s is not possible after a review", name, firstAction)
		}
	}
}

// A religious review that does not name who approved and the fatwa is refused. Neither text has a default.
func TestAReviewInTheReligiousReadingNamesItsReference(t *testing.T) {
	for _, p := range Products {
		if p.Variants[Religious] == nil {
			continue
		}
		r := &Record{Product: p, Reading: Religious, Status: p.States[0], Values: p.Columns.New()}
		for _, missing := range []string{"approved_by", "fatwa_reference"} {
			for _, text := range []string{"", `""`, `"  "`, `null`, `7`} {
				d, err := r.Act(Approve, withChanges(boardReview(), missing, text), 0)
				if err == nil || d.Record != nil {
					t.Errorf("%s: a review with the %s %q is accepted", p.Variants[Religious].Name, missing, text)
				} else if got := fmt.Sprint(fieldsOf(t, err)); got != "["+missing+"]" {
					t.Errorf("%s: refused for %s; want %s", p.Variants[Religious].Name, got, missing)
				}
			}
		}
		d, err := r.Act(Approve, boardReview(), 0)
		if err != nil || d.Record.Status != ReviewPassed || !Reviewed.Get(d.Record.Values).IsGiven() {
			t.Errorf("%s: %v", p.Variants[Religious].Name, err)
		}
	}
}

// If the creation of a contract also carries out other actions (Variant.CreationActions), the first of them is the review.
func TestOpeningsBeginWithTheReview(t *testing.T) {
	for _, p := range Products {
		for reading, variant := range p.Variants {
			if len(variant.CreationActions) == 0 {
				continue
			}
			if !reading.ReviewFirst || variant.CreationActions[0] != Approve {
				t.Errorf("%s: opened with %v", variant.Name, variant.CreationActions)
			}
		}
	}
}

// A step that is in both readings (secular and religious) leads to the same state in both. The readings differ only in steps
// that one of them lacks.
func TestReadingsShareTheirSteps(t *testing.T) {
	for _, p := range Products {
		if p.Variants[Religious] == nil {
			continue
		}
		secular, religious := p.Machine(Secular), p.Machine(Religious)
		for _, state := range secular.States() {
			for _, action := range secular.Events() {
				secularStep, inSecular := secular.Next(state, action)
				if religiousStep, inReligious := religious.Next(state, action); inSecular && inReligious && secularStep.To != religiousStep.To {
					t.Errorf("%s in state %s leads to %s and %s", action, state, secularStep.To, religiousStep.To)
				}
			}
		}
	}
}
