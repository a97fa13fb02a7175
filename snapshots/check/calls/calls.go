package calls

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 7 of the checker: every provider call has its intent, an event that was stored before the call. No charge is
// sent twice to a terminal, or to a second terminal while the first may have charged it. No capture, void or refund
// is sent twice. If a transaction moved money, its last call reports the same captured and refunded amounts as its
// entries. A charge that the store has closed is not open at the provider. No line of the simulator's log shows what
// may be a card number. The rule needs the data directory, which contains this log.

// LogName is the name of the simulator's log in the data directory.
const LogName = "simulator.log"

// RemoteName is the name of a file in the data directory. It says that the simulator runs in a process of its own, so its log
// is elsewhere. The file contains the URL of this process at the last start, for people.
const RemoteName = "simulator.url"

// call is a line of the simulator's log: a call, and the state of the charge after the call.
type call struct {
	Reference ledger.ID    `json:"reference"`
	Terminal  ledger.ID    `json:"terminal"`
	Org       ledger.ID    `json:"org"`
	Operation string       `json:"operation"`
	Request   ledger.ID    `json:"request"` // zero if the call opens a charge or is a challenge
	Outcome   string       `json:"outcome"`
	Status    string       `json:"status"`   // status of the charge; if empty, Outcome is the status
	Amount    money.Amount `json:"amount"`   // the amount of the charge
	Captured  money.Amount `json:"captured"` // captured part of the hold; zero: not reported
	Refunded  money.Amount `json:"refunded"`
}

// operationsByLogName maps the name of an operation in the log to a kind of call. Challenges and reissues are not in the
// map, because the service makes no call for them.
var operationsByLogName = map[string]scan.Operation{
	payment.Payment.String(): scan.CallCharge,
	payment.Payout.String():  scan.CallCharge,
	"complete":               scan.CallComplete,
	"capture":                scan.CallCapture,
	"void":                   scan.CallVoid,
	"refund":                 scan.CallRefund,
}

// Operations in the log that need no intent, because the service did not call the provider. A challenge is logged when
// the payer has answered it, and a reissue when the rail has published the payer's next step again. Neither moves money.
const (
	challenge = "challenge"
	reissue   = "reissue"
)

// callNames are the names of the kinds of calls in the report.
var callNames = [scan.Operations]string{"charge", "completion", "capture", "void", "refund"}

// heldStatuses are the statuses in which a charge moves no money without a further call of the service.
var heldStatuses = map[string]bool{"held": true, "action": true}

// unchargedStatuses are the statuses of a charge that never moves money.
var unchargedStatuses = map[string]bool{"refused": true, "failed": true, "unknown_reference": true, "not_sent": true}

// checker compares the calls in the simulator's log with the intents in the journals.
type checker struct{ *scan.Scan }

// Check compares the simulator's log in the data directory with the intents. The rule is skipped without a data
// directory, and if the simulator's log is elsewhere (RemoteName).
func Check(s *scan.Scan, data string) error {
	c := &checker{s}
	isElsewhere, err := isLogElsewhere(data)
	if err != nil {
		return err
	}
	if isElsewhere {
		c.Report.Skip(findings.RuleCalls)
		return nil
	}
	return c.ReadSection(findings.RuleCalls, func() error {
		if err := c.readCalls(filepath.Join(data, LogName)); err != nil {
			return err
		}
		for _, o := range c.Organizations {
			c.compareCalls(o)
		}
		return nil
	})
}

// isLogElsewhere tells whether there is no data directory, or it has no log because the simulator runs in a process of its own.
func isLogElsewhere(data string) (bool, error) {
	if data == "" {
		return true, nil
	}
	if _, err := os.Lstat(filepath.Join(data, LogName)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	_, err := os.Lstat(filepath.Join(data, RemoteName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readCalls adds every call to its transaction's history. It ignores calls that the simulator never answered: a last line
// that is cut short, zero bytes after the lines, and everything after a block that a power failure left zero.
func (c *checker) readCalls(path string) error {
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
	for lineNumber := uint64(1); ; lineNumber++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return nil
		}
		var entry call
		if err := json.Unmarshal(line, &entry); err != nil {
			c.Report.Breach(findings.RuleCalls, "call %d of the simulator can't be read", lineNumber)
			continue
		}
		c.Report.Count(findings.RuleCalls, 1)
		if showsCard(line) {
			c.Report.Breach(findings.RuleCalls, "call %d of the simulator shows what may be a card's number", lineNumber)
		}
		c.checkCall(&entry, requests)
		if err := c.Interrupted(); err != nil {
			return err
		}
	}
}

// unknownReference is the outcome of a call about a charge that the provider does not have.
const unknownReference = "unknown_reference"

// checkCall checks a call and adds it to its transaction's history. requests has the ids of the requests of
// earlier calls.
func (c *checker) checkCall(entry *call, requests map[ledger.ID]bool) {
	source := ledger.Source{Kind: ledger.Transaction, ID: entry.Reference}
	operation, known := operationsByLogName[entry.Operation]
	if !known && entry.Operation != challenge && entry.Operation != reissue {
		c.Report.Breach(findings.RuleCalls, "organization %v: %s was sent with an unknown operation", entry.Org, scan.NameOf(source))
		return
	}
	var o *scan.Organization
	var h *scan.History
	if o = c.Organizations[entry.Org]; o != nil {
		h = o.Histories.FindCharge(entry.Terminal, entry.Reference)
	}
	if h == nil || h.Intents[scan.CallCharge] == 0 {
		c.Report.Breach(findings.RuleCalls, "organization %v: %s was sent to the provider without an intent", entry.Org, scan.NameOf(source))
		return
	}
	terminal := o.Histories.HashTerminal(entry.Terminal)
	switch {
	case !known:
	case operation == scan.CallCharge:
		c.checkOpening(entry, h, terminal)
	case operation == scan.CallVoid && entry.Outcome == unknownReference: // the call of the charge was lost, and the void has made sure that there is no charge
	case h.Calls[scan.CallCharge] == 0 || h.CalledTerminal != terminal:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s has a %s at a terminal where it is not open", entry.Org, scan.NameOf(source), entry.Operation)
	case entry.Request == (ledger.ID{}):
		c.Report.Breach(findings.RuleCalls, "organization %v: a %s of %s names no request", entry.Org, entry.Operation, scan.NameOf(source))
	case requests[entry.Request] && operation != scan.CallComplete:
		c.Report.Breach(findings.RuleCalls, "organization %v: a %s of %s was sent twice", entry.Org, entry.Operation, scan.NameOf(source))
	}
	if known && (operation == scan.CallCharge || !requests[entry.Request]) {
		h.Calls[operation] = scan.Increment(h.Calls[operation])
	}
	requests[entry.Request] = true
	entry.apply(o.Histories, h)
}

// checkOpening checks and records a call that opens a charge. The next terminal may be tried only after
// the previous one has refused the charge.
func (c *checker) checkOpening(entry *call, h *scan.History, terminal uint32) {
	source := ledger.Source{Kind: ledger.Transaction, ID: entry.Reference}
	switch {
	case h.Calls[scan.CallCharge] == 0:
	case h.CalledTerminal == terminal:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s was sent twice to one terminal", entry.Org, scan.NameOf(source))
	case h.Marks&scan.ProviderMayHold != 0:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s was sent to a second terminal, and the first may have charged it", entry.Org, scan.NameOf(source))
	}
	h.CalledTerminal = terminal
}

// apply records in the transaction's history in which state the charge was after the call.
func (entry *call) apply(histories *scan.Histories, h *scan.History) {
	status, captured := entry.Status, entry.Captured
	if status == "" {
		status = entry.Outcome
	}
	if captured.IsZero() {
		captured = entry.Amount
	}
	h.Marks &^= scan.ProviderMayHold | scan.ProviderHolds | scan.ProviderAgrees
	if unchargedStatuses[status] {
		return
	}
	h.Marks |= scan.ProviderMayHold
	if status == "charged" {
		h.Marks |= scan.ProviderHolds
	}
	var bookedMoney scan.ProviderMoney
	if h.ProviderMoney >= 0 {
		bookedMoney = *histories.MovedMoney.At(h.ProviderMoney)
	}
	withOpenRefund := bookedMoney.Refunded // the refunded amount if the refund that is under way succeeds
	if h.Refunds >= 0 {
		if lastRefund := histories.Refunds.At(h.Refunds); lastRefund.State == scan.RefundOpen {
			withOpenRefund, _ = bookedMoney.Refunded.Add(lastRefund.Provider) // rule 3 (states of records) has checked the range
		}
	} else if h.OpenRequest == scan.LateRefundRequest {
		withOpenRefund = bookedMoney.Captured
	}
	if captured == bookedMoney.Captured && !heldStatuses[status] && (entry.Refunded == bookedMoney.Refunded || entry.Refunded == withOpenRefund) {
		h.Marks |= scan.ProviderAgrees
	}
}

// compareCalls compares an organization's calls with the organization's intents and entries, after the whole log has
// been read.
func (c *checker) compareCalls(o *scan.Organization) {
	for source, h := range o.Histories.All() {
		if source.Kind == ledger.Transaction {
			c.compareCharge(o, source, h)
		}
	}
	for reference, h := range o.Histories.ByCharge {
		if h.Version == 0 { // the charge has no record of its own, so the loop above did not compare it
			c.compareCharge(o, ledger.Source{Kind: ledger.Transaction, ID: reference}, h)
		}
	}
}

// compareCharge compares the calls for one transaction with the transaction's intents and entries.
func (c *checker) compareCharge(o *scan.Organization, source ledger.Source, h *scan.History) {
	for operation, n := range h.Calls {
		if n > h.Intents[operation] {
			c.Report.Breach(findings.RuleCalls, "organization %v: %s has %d calls for a %s, on %d intents", o.ID, scan.NameOf(source), n, callNames[operation], h.Intents[operation])
		}
	}
	isSettled := h.Marks&(scan.ChargeBooked|scan.BookedLate) != 0
	lastStatus := payment.Status(o.Histories.StatesOf(ledger.Transaction).Name(h))
	isClosed := lastStatus == payment.Rejected || lastStatus == payment.Failed
	switch {
	case h.Calls[scan.CallCharge] > 0 && h.Marks&scan.AtSimulator != 0 && h.CalledTerminal != h.TerminalHash && isSettled:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s is charged at a different terminal than the one to which it was last sent", o.ID, scan.NameOf(source))
	case isSettled && h.Marks&scan.AtSimulator != 0 && h.Marks&scan.ProviderMayHold == 0:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s is charged without a call", o.ID, scan.NameOf(source))
	case isSettled && h.Marks&scan.AtSimulator != 0 && h.Marks&scan.ProviderAgrees == 0:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s has booked something else than the provider did", o.ID, scan.NameOf(source))
	case isClosed && !isSettled && h.Marks&scan.ProviderHolds != 0:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s is %s, and the provider has charged it", o.ID, scan.NameOf(source), lastStatus)
	case isClosed && !isSettled && h.Marks&scan.ProviderMayHold != 0:
		c.Report.Breach(findings.RuleCalls, "organization %v: %s is %s, and the provider may still charge it", o.ID, scan.NameOf(source), lastStatus)
	}
}
