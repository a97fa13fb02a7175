package check

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// simulator is the route whose provider keeps a log in the data directory.
const (
	simulator    = "simulator"
	SimulatorLog = "simulator.log"
)

// call is a line of the simulator's log: a call, and its charge as the call left
// it. A charge's first line says of the charge only what it does not say of the call.
type call struct {
	Reference ledger.ID    `json:"reference"`
	Terminal  ledger.ID    `json:"terminal"`
	Org       ledger.ID    `json:"org"`
	Operation string       `json:"operation"`
	Request   ledger.ID    `json:"request"` // zero for what opens a charge, and for a challenge
	Outcome   string       `json:"outcome"`
	Status    string       `json:"status"`   // of the charge; empty: Outcome
	Amount    money.Amount `json:"amount"`   // that the charge was opened for
	Captured  money.Amount `json:"captured"` // of what was held; zero: not said
	Refunded  money.Amount `json:"refunded"`
}

// calls are the operations as the log names them. A challenge is no call of ours:
// the payer has answered it.
var calls = map[string]operation{
	payment.Payment.String(): callCharge,
	payment.Payout.String():  callCharge,
	"complete":               callComplete,
	"capture":                callCapture,
	"void":                   callVoid,
	"refund":                 callRefund,
}

// Lines of the log that are no calls with an intent: the payer has answered a challenge,
// and the rail has published anew what the payer has to do. Neither moves anything.
const (
	challenge = "challenge"
	reissue   = "reissue"
)

var callNames = [operations]string{"charge", "completion", "capture", "void", "refund"}

// waitsForUs are the statuses of a charge that is charged only by a call of ours.
var waitsForUs = map[string]bool{"held": true, "action": true}

// nothingMoves are the statuses of a charge by which nothing is or will be charged.
var nothingMoves = map[string]bool{"refused": true, "failed": true, "unknown_reference": true, "not_sent": true}

// callsCheck compares the calls in the simulator's log with the intents in the journals.
type callsCheck struct{ *scan }

// checkCalls compares the provider's own log with the intents.
func checkCalls(s *scan, data string) error {
	c := &callsCheck{s}
	if data == "" {
		c.report.skip(ruleCalls)
		return nil
	}
	return c.reading(ruleCalls, func() error {
		if err := c.readCalls(filepath.Join(data, SimulatorLog)); err != nil {
			return err
		}
		for _, o := range c.organizations {
			c.compareCalls(o)
		}
		return nil
	})
}

// readCalls notes every call in its transaction's history. The last line may be
// cut short: its call was never answered, and the simulator forgets it.
func (c *callsCheck) readCalls(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	requests := make(map[ledger.ID]bool)
	for n := uint64(1); ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var made call
		if err := json.Unmarshal(line, &made); err != nil {
			c.report.breach(ruleCalls, "call %d of the simulator can't be read", n)
			continue
		}
		c.report.count(ruleCalls, 1)
		if showsCard(line) {
			c.report.breach(ruleCalls, "call %d of the simulator shows what may be a card's number", n)
		}
		c.call(&made, requests)
		if err := c.alive(); err != nil {
			return err
		}
	}
}

// call notes a call; requests are those that were read before.
func (c *callsCheck) call(made *call, requests map[ledger.ID]bool) {
	source := ledger.Source{Kind: ledger.Transaction, ID: made.Reference}
	what, known := calls[made.Operation]
	if !known && made.Operation != challenge && made.Operation != reissue {
		c.report.breach(ruleCalls, "organization %v: %s was sent with an unknown operation", made.Org, named(source))
		return
	}
	var o *organization
	var h *history
	if o = c.organizations[made.Org]; o != nil {
		h = o.histories.find(source)
	}
	if h == nil || h.asked[callCharge] == 0 {
		c.report.breach(ruleCalls, "organization %v: %s was sent to the provider without an intent", made.Org, named(source))
		return
	}
	terminal := o.histories.terminalOf(made.Terminal)
	switch {
	case !known:
	case what == callCharge:
		c.opened(made, h, terminal)
	case h.calls[callCharge] == 0 || h.called != terminal:
		c.report.breach(ruleCalls, "organization %v: %s has a %s at a terminal where it is not open", made.Org, named(source), made.Operation)
	case made.Request == (ledger.ID{}):
		c.report.breach(ruleCalls, "organization %v: a %s of %s names no request", made.Org, made.Operation, named(source))
	case requests[made.Request] && what != callComplete:
		c.report.breach(ruleCalls, "organization %v: a %s of %s was sent twice", made.Org, made.Operation, named(source))
	}
	if known && (what == callCharge || !requests[made.Request]) {
		h.calls[what] = increment(h.calls[what])
	}
	requests[made.Request] = true
	made.leaves(o.histories, h)
}

// opened notes a call that opens a charge. The next terminal is tried only when
// the one before has refused.
func (c *callsCheck) opened(made *call, h *history, terminal uint32) {
	source := ledger.Source{Kind: ledger.Transaction, ID: made.Reference}
	switch {
	case h.calls[callCharge] == 0:
	case h.called == terminal:
		c.report.breach(ruleCalls, "organization %v: %s was sent twice to one terminal", made.Org, named(source))
	case h.marks&mayHave != 0:
		c.report.breach(ruleCalls, "organization %v: %s was sent to a second terminal, and the first may have charged it", made.Org, named(source))
	}
	h.called = terminal
}

// leaves notes how the call leaves its charge.
func (made *call) leaves(histories *histories, h *history) {
	status, settled := made.Status, made.Captured
	if status == "" {
		status = made.Outcome
	}
	if settled.IsZero() {
		settled = made.Amount
	}
	h.marks &^= mayHave | has | agrees
	if nothingMoves[status] {
		return
	}
	h.marks |= mayHave
	if status == "charged" {
		h.marks |= has
	}
	var ours moved
	if h.moved >= 0 {
		ours = *histories.moved.at(h.moved)
	}
	underWay := ours.refunded
	if h.refunds >= 0 {
		if last := histories.refunds.at(h.refunds); last.state == refundOpen {
			underWay, _ = ours.refunded.Add(last.provider) // followRefund has looked at the range
		}
	} else if h.asks == toGiveBack {
		underWay = ours.captured
	}
	if settled == ours.captured && !waitsForUs[status] && (made.Refunded == ours.refunded || made.Refunded == underWay) {
		h.marks |= agrees
	}
}

// compareCalls checks what is known of an organization's calls when all are read.
func (c *callsCheck) compareCalls(o *organization) {
	for source, at := range o.histories.index {
		if h := o.histories.slab.at(at); source.Kind == ledger.Transaction {
			c.compareCharge(o, source, h)
		}
	}
}

func (c *callsCheck) compareCharge(o *organization, source ledger.Source, h *history) {
	for what, n := range h.calls {
		if n > h.asked[what] {
			c.report.breach(ruleCalls, "organization %v: %s has %d calls for a %s, on %d intents", o.id, named(source), n, callNames[what], h.asked[what])
		}
	}
	settled := h.marks&(booked|late) != 0
	last := payment.Status(o.histories.statesOf(ledger.Transaction).name(h))
	over := last == payment.Rejected || last == payment.Failed
	switch {
	case h.calls[callCharge] > 0 && h.marks&simulated != 0 && h.called != h.terminal && settled:
		c.report.breach(ruleCalls, "organization %v: %s is charged at another terminal than it was sent to last", o.id, named(source))
	case settled && h.marks&simulated != 0 && h.marks&mayHave == 0:
		c.report.breach(ruleCalls, "organization %v: %s is charged without a call", o.id, named(source))
	case settled && h.marks&simulated != 0 && h.marks&agrees == 0:
		c.report.breach(ruleCalls, "organization %v: %s books something else than the provider did", o.id, named(source))
	case over && !settled && h.marks&has != 0:
		c.report.breach(ruleCalls, "organization %v: %s is %s, and the provider has charged it", o.id, named(source), last)
	case over && !settled && h.marks&mayHave != 0:
		c.report.breach(ruleCalls, "organization %v: %s is %s, and the provider may still charge it", o.id, named(source), last)
	}
}
