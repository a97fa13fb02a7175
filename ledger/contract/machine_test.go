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

var update = flag.Bool("update", false, "rewrite the machines' reports")

// Each product's machine in each reading has a report under testdata, which shows every change. It
// also says which events move money and which columns are sums of lines, because the checker requires
// the entries accordingly.
func TestTheMachinesReportsAreCommitted(t *testing.T) {
	pages := make(map[string]bool)
	for _, p := range Products {
		for reading, variant := range p.Variants {
			name := reading.Name + "-" + variant.Name + ".txt"
			page := filepath.Join("testdata", name)
			pages[name] = true
			got := p.Machine(reading).Report() + reportOfMovements(p, reading)
			if *update {
				if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(page); err != nil || got != string(want) {
				t.Errorf("%s is not the machine's report (%v): run go test -update and review the difference", page, err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range files {
		if !pages[filepath.Base(page)] {
			t.Errorf("%s is of no machine", page)
		}
	}
}

// reportOfMovements returns tables of the events of a product's machine with their movements, and of
// the product's control totals.
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
	for _, t := range p.Totals {
		column, entries := t.Column.Name, "all entries"
		if t.RowColumn != nil {
			column += "." + t.RowColumn.Name
		}
		if t.By != "" {
			entries = "the entries of " + string(t.By)
		}
		fmt.Fprintf(&out, "%s: the %ss of %s by %s\n", column, t.Side, t.Account, entries)
	}
	return out.String()
}

// A sum that no control total names is not checked, and no other test finds out. So a product without
// any is a mistake rather than a decision.
func TestEveryProductHasAControlTotal(t *testing.T) {
	for _, p := range Products {
		if len(p.Totals) == 0 {
			t.Errorf("%s have no Totals: name the columns with sums of what a contract posts on shared accounts", p.Variants[Secular].Name)
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
			t.Errorf("there are no %s", secular)
			continue
		}
		if codes[p.Code] {
			t.Errorf("%s are stored like another product", secular)
		}
		codes[p.Code] = true
		for _, variant := range p.Variants {
			if prefixes[variant.Prefix] {
				t.Errorf("the prefix %s is another product's too", variant.Prefix)
			}
			prefixes[variant.Prefix] = true
		}
		counterpart := p.Variants[Religious]
		switch {
		case religious == "" && counterpart != nil:
			t.Errorf("%s have the address %s", secular, counterpart.Name)
		case religious != "" && Find(Religious, religious) != p:
			t.Errorf("%s is not the counterpart of %s", religious, secular)
		}
	}
}

// walk stands for all paths through a machine that have led to the same state, and of which all or none
// have passed a review.
type walk struct {
	status   Status
	reviewed bool
}

// walks visits every path of a product's machine in a reading, and calls onStep with each step and the
// walk before it. All paths of one walk can be continued in the same ways, so walks continues only one of
// them, and covers paths of any length.
func walks(p *Product, reading *Reading, onStep func(before walk, step Step)) {
	machine := p.Machine(reading)
	seen := map[walk]bool{}
	queue := []walk{{status: machine.Initial()}}
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
				queue = append(queue, walk{step.To, current.reviewed || action == Pass})
			}
		}
	}
}

// In the religious reading, no path of the machine reaches a handler that may move money before it has
// passed a review. Handlers declare that they move money; the random scenarios of the products check that
// declaration.
func TestNothingMovesMoneyBeforeAReview(t *testing.T) {
	for _, p := range Products {
		for reading, variant := range p.Variants {
			if !reading.ReviewFirst {
				continue
			}
			moving := 0
			walks(p, reading, func(before walk, step Step) {
				if step.By == Create || !needsReview(p, step.By) {
					return
				}
				moving++
				if !before.reviewed {
					t.Errorf("%s: %s is reached from %s without a review", variant.Name, step.By, before.status)
				}
			})
			if moving == 0 {
				t.Errorf("%s: nothing moves money", variant.Name)
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
						follow(append(slices.Clone(path), step.To), reviewed || action == Pass)
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
	for name, first := range map[string]Action{
		"certificate-issues": Offer, "managed-investments": Fund, "leases": Acquire, "partnerships": Fund, "instalment-sales": OrderAsset,
		"investment-deposits": Activate, "safekeeping-deposits": Activate,
	} {
		p := Find(Secular, name)
		machine := p.Machine(Secular)
		if _, ok := machine.Next(p.States[0], first); !ok {
			t.Errorf("%s: %s is not possible in %s", name, first, p.States[0])
		}
		if !needsReview(p, first) {
			t.Errorf("%s: %s does not say that it needs a review", name, first)
		}
		if !machine.Has(ReviewPassed) {
			continue
		}
		if _, ok := machine.Next(ReviewPassed, first); !ok {
			t.Errorf("%s: %s is not possible behind a review", name, first)
		}
	}
}

// A review without the board's texts is refused, and no text is filled in.
func TestAReviewInTheReligiousReadingNamesItsReference(t *testing.T) {
	for _, p := range Products {
		if p.Variants[Religious] == nil {
			continue
		}
		r := &Record{Product: p, Reading: Religious, Status: p.States[0], Values: p.Columns.New()}
		for _, missing := range []string{"approved_by", "fatwa_reference"} {
			for _, text := range []string{"", `""`, `"  "`, `null`, `7`} {
				d, err := r.Act(Pass, withChanges(boardReview(), missing, text), 0)
				if err == nil || d.Record != nil {
					t.Errorf("%s: a review with the %s %q is taken", p.Variants[Religious].Name, missing, text)
				} else if got := fmt.Sprint(fieldsOf(t, err)); got != "["+missing+"]" {
					t.Errorf("%s: refused for %s; want %s", p.Variants[Religious].Name, got, missing)
				}
			}
		}
		d, err := r.Act(Pass, boardReview(), 0)
		if err != nil || d.Record.Status != ReviewPassed || !Reviewed.Get(d.Record.Values).Concluded() {
			t.Errorf("%s: %v", p.Variants[Religious].Name, err)
		}
	}
}

// A creation that opens a contract up to the active state has the review among its steps, before
// all steps that move money.
func TestOpeningsBeginWithTheReview(t *testing.T) {
	for _, p := range Products {
		for reading, variant := range p.Variants {
			if len(variant.Opening) == 0 {
				continue
			}
			if !reading.ReviewFirst || variant.Opening[0] != Pass {
				t.Errorf("%s: opened with %v", variant.Name, variant.Opening)
			}
		}
	}
}

// Steps that two readings share lead to the same states. Readings differ only in steps that one
// of them does not have.
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
