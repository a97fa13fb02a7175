package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/payment"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// logFault returns a fault that changes the lines about one transaction in the log of the provider simulator.
func logFault(name, wantText string, transactionOf func(*fixture.Store) *payment.Record, change func(lines []string) []string) fault {
	return fault{name: name, brokenRules: []int{7}, want: wantText, make: func(t *testing.T, w *fixture.Store) {
		id := transactionOf(w).ID.String()
		w.RewriteSimulatorLog(t, func(lines []string) (otherLines []string) {
			var transactionLines []string
			for _, line := range lines {
				if strings.Contains(line, `{"reference":"`+id) {
					transactionLines = append(transactionLines, line)
				} else {
					otherLines = append(otherLines, line)
				}
			}
			originalLines := slices.Clone(transactionLines)
			if transactionLines = change(transactionLines); slices.Equal(transactionLines, originalLines) {
				t.Fatalf("nothing was changed in %q", originalLines)
			}
			return append(otherLines, transactionLines...)
		})
	}}
}

// replaceInLine returns a function that replaces a text in line i. If i is -1, it replaces the text in the last line.
func replaceInLine(i int, old, replacement string) func([]string) []string {
	return func(lines []string) []string {
		if i < 0 {
			i += len(lines)
		}
		lines[i] = strings.Replace(lines[i], old, replacement, 1)
		return lines
	}
}

// repeatLast appends the last line again, with another request's id.
func repeatLast(lines []string) []string {
	line := lines[len(lines)-1]
	const member = `"request":"`
	idStart := strings.Index(line, member) + len(member)
	return append(lines, line[:idStart]+uuid.NewString()+line[idStart+36:])
}

// withoutLines returns a function that removes the lines from an index on.
func withoutLines(from int) func([]string) []string {
	return func(lines []string) []string { return slices.Delete(lines, from, len(lines)) }
}

// terminalOf returns the id of the terminal in a line.
func terminalOf(line string) string {
	_, after, _ := strings.Cut(line, `"terminal":"`)
	return after[:36]
}

// changeTerminal returns a function that changes the terminal in line i to an unknown one.
func changeTerminal(i int) func([]string) []string {
	return func(lines []string) []string { return replaceInLine(i, terminalOf(lines[i]), uuid.NewString())(lines) }
}

// operationFaults are differences between the journal and the provider's log.
var operationFaults = []fault{
	logFault("a charge without its call", "is charged without a call", func(w *fixture.Store) *payment.Record { return w.ChargedPayment }, withoutLines(0)),
	logFault("a charge that is only held", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.Captured }, withoutLines(1)),
	logFault("a capture of another amount", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.Captured },
		replaceInLine(-1, `"captured":"1515"`, `"captured":"1516"`)),
	logFault("a charge of another amount", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.ChargedPayment },
		replaceInLine(0, `"amount":"10199"`, `"amount":"10198"`)),
	logFault("a converted payout of another amount", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.Rerouted },
		replaceInLine(-1, `"amount":"295"`, `"amount":"300"`)),
	logFault("a refund of another amount", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded },
		replaceInLine(-1, `"refunded":"667"`, `"refunded":"668"`)),
	logFault("a refund without its calls", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded }, withoutLines(2)),
	logFault("a refund at the provider that the record does not have", "has booked something else than the provider did", func(w *fixture.Store) *payment.Record { return w.Trades.RefundRefused },
		replaceInLine(-1, `"captured":"1003"`, `"captured":"1003","refunded":"1003"`)),
	logFault("a charge at another terminal", "is charged at a different terminal than the one to which it was last sent", func(w *fixture.Store) *payment.Record { return w.ChargedPayment }, changeTerminal(0)),
	logFault("a second terminal while the first may have charged it", "and the first may have charged it", func(w *fixture.Store) *payment.Record { return w.Trades.Rerouted },
		replaceInLine(0, `"outcome":"refused"`, `"outcome":"pending"`)),
	logFault("a cancelled charge that is still open at the provider", "and the provider may still charge it", func(w *fixture.Store) *payment.Record { return w.Trades.Voided }, withoutLines(1)),
	logFault("a refund that is sent twice", "a refund of transaction", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded },
		func(lines []string) []string { return append(lines, lines[2]) }),
	logFault("a refund without an intent", "has 3 calls for a refund, on 2 intents", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded }, repeatLast),
	logFault("a void without an intent", "has 2 calls for a void, on 1 intents", func(w *fixture.Store) *payment.Record { return w.Trades.Voided }, repeatLast),
	logFault("a completion without an intent", "has 2 calls for a completion, on 1 intents", func(w *fixture.Store) *payment.Record { return w.Trades.ChallengePassed }, repeatLast),
	logFault("a refund at another terminal", "has a refund at a terminal where it is not open", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded }, changeTerminal(2)),
	logFault("a refund without its request", "names no request", func(w *fixture.Store) *payment.Record { return w.Trades.RefundRefused },
		replaceInLine(1, `"request":"`, `"requested":"`)),
	logFault("an unknown operation", "was sent with an unknown operation", func(w *fixture.Store) *payment.Record { return w.Trades.Refunded },
		func(lines []string) []string {
			return append(lines, strings.Replace(lines[0], `"payment"`, `"transfer"`, 1))
		}),
	{"an unreadable line", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string { return append(lines, `not a line}`) })
	}, []int{7}, "can't be read"},
	logFault("a card's number", "shows what may be a card's number", func(w *fixture.Store) *payment.Record { return w.DeclinedPayment },
		replaceInLine(0, "card_declined", "4000000000000002 was declined")),
	{"an amount that could be a card's number", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"before":"0"`) })
			return replaceInLine(i, `"before":"0"`, `"before":"4000000000000002"`)(lines)
		})
	}, nil, ""},
	logFault("a challenge of a transaction that does not exist", "was sent to the provider without an intent", func(w *fixture.Store) *payment.Record { return w.Trades.ChallengePassed },
		func(lines []string) []string {
			return append(lines, strings.Replace(lines[1], lines[1][14:50], uuid.NewString(), 1))
		}),
}

// Money that arrives after its transaction was closed is compared with the log too: the provider's log has the
// charge and, if the money is given back, a refund.
func TestLateMoneyIsComparedWithTheSimulatorLog(t *testing.T) {
	for _, c := range []struct {
		name        string
		amount      string
		refunded    string // empty: the call was not made
		hasOutcome  bool
		brokenRules []int
	}{
		{"nothing was given back", "300", "", false, nil},
		{"it is being given back", "300", "300", false, nil},
		{"it was given back", "300", "300", true, nil},
		{"another amount came", "299", "", false, []int{7}},
		{"another amount was given back", "300", "299", false, []int{7}},
		{"it was given back without a call", "300", "", true, []int{7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fixture.Copy(t)
			var late *scenario
			runScenario(t, w, func(s *scenarios) {
				routedTerms := terms(payment.Fees{})
				routedTerms.Route = "simulator"
				late = s.create(s.request(payment.Payment, 300), routedTerms)
				late.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
				late.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
				late.refundLate()
				if c.hasOutcome {
					late.answerOperation(payment.VerdictCharged)
				}
			})
			line := func(members string) string {
				return fmt.Sprintf(`{"reference":%q,"terminal":%q,"org":%q,"amount":%q,%s}`, late.record.ID, late.record.Terminal, w.FirstDemo.Org, c.amount, members)
			}
			w.RewriteSimulatorLog(t, func(lines []string) []string {
				lines = append(lines, line(`"operation":"payment","outcome":"charged"`))
				if c.refunded != "" {
					lines = append(lines, line(fmt.Sprintf(`"operation":"refund","request":%q,"outcome":"charged","status":"charged","captured":"300","refunded":%q`,
						late.record.LastRefund().ID, c.refunded)))
				}
				return lines
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), c.brokenRules...)
		})
	}
}
