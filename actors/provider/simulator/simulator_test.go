package simulator

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var start = time.Date(2026, 11, 21, 10, 15, 30, 123456000, time.UTC)

const (
	baseURL   = "https://sandbox.example:8443"
	returnURL = "https://sandbox.example:8443/pay/back?token=abc"
)

var (
	usd     = money.Asset{Currency: "USD", Env: money.Test}
	testKey = bytes.Repeat([]byte{0x5a}, KeySize)
)

// testSimulator is a simulator with its own log file and clock.
type testSimulator struct {
	*Simulator
	t      testing.TB
	path   string
	clock  *clock.Manual
	within bounds // zero: usualBounds
}

func open(t testing.TB) *testSimulator {
	t.Helper()
	sim := &testSimulator{t: t, path: filepath.Join(tempDirInMemory(t), "simulator.log"), clock: clock.NewManual(start)}
	sim.open()
	t.Cleanup(func() { _ = sim.Close() })
	return sim
}

// tempDirInMemory returns a directory on a disk in memory, if there is one, because thousands of syncs of
// a real disk would only cost time.
func tempDirInMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mizan-simulator-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (sim *testSimulator) options() Options {
	return Options{Path: sim.path, Clock: sim.clock, BaseURL: baseURL, Key: testKey}
}

func (sim *testSimulator) open() {
	sim.t.Helper()
	var err error
	if sim.within == (bounds{}) {
		sim.within = usualBounds
	}
	if sim.Simulator, err = openWithin(sim.options(), sim.within); err != nil {
		sim.t.Fatal(err)
	}
}

// reopen restarts the simulator, whose memory is lost.
func (sim *testSimulator) reopen() {
	sim.t.Helper()
	if err := sim.Close(); err != nil {
		sim.t.Fatal(err)
	}
	sim.open()
}

func (sim *testSimulator) advance(d time.Duration) {
	sim.t.Helper()
	if err := sim.clock.Set(sim.clock.Now().Add(d)); err != nil {
		sim.t.Fatal(err)
	}
}

// content returns the log's file without the zero bytes at its end.
func (sim *testSimulator) content() []byte {
	sim.t.Helper()
	content, err := os.ReadFile(sim.path)
	if err != nil {
		sim.t.Fatal(err)
	}
	return bytes.TrimRight(content, "\x00")
}

// logLines returns the file's lines, decoded by a generic JSON reader.
func (sim *testSimulator) logLines() []map[string]string {
	sim.t.Helper()
	var list []map[string]string
	for _, text := range bytes.SplitAfter(sim.content(), []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		var fields map[string]string
		if err := json.Unmarshal(text, &fields); err != nil || text[len(text)-1] != '\n' {
			sim.t.Fatalf("line %q: %v", text, err)
		}
		list = append(list, fields)
	}
	return list
}

// countLines returns how many lines of the log are about an operation of a charge.
func (sim *testSimulator) countLines(n uint64, operation string) int {
	sim.t.Helper()
	count := 0
	for _, line := range sim.logLines() {
		if line["reference"] == id(n).String() && line["operation"] == operation {
			count++
		}
	}
	return count
}

// inquire inquires about a payment, not about an operation on the payment.
func (sim *testSimulator) inquire(n uint64) actors.Outcome { return sim.inquireAbout(n, actors.Pay, 0) }

// inquireAbout inquires about an operation at terminal 7, as a caller to whom the payer's action is
// known.
func (sim *testSimulator) inquireAbout(n uint64, operation actors.Operation, request uint64) actors.Outcome {
	question := inquiryOf(n, operation)
	question.Request, question.ActionKnown = id(request), true
	return sim.Inquire(context.Background(), question)
}

// inquiryOf returns an inquiry of a caller to whom the payer's action is not known.
func inquiryOf(n uint64, operation actors.Operation) *actors.Inquiry {
	return &actors.Inquiry{Terminal: terminal(""), Reference: id(n), Operation: operation}
}

func (sim *testSimulator) submit(c *actors.Call) actors.Outcome {
	return sim.Submit(context.Background(), c)
}

// Submit calls the simulator's Submit and removes the token from the outcome.
func (sim *testSimulator) Submit(ctx context.Context, c *actors.Call) actors.Outcome {
	return sim.withoutToken(sim.Simulator.Submit(ctx, c))
}

// Inquire calls the simulator's Inquire and removes the token from the outcome.
func (sim *testSimulator) Inquire(ctx context.Context, question *actors.Inquiry) actors.Outcome {
	return sim.withoutToken(sim.Simulator.Inquire(ctx, question))
}

// withoutToken removes the token from an outcome; tokens_test.go tests tokens. Only the outcome of a charged
// payment may have a token.
func (sim *testSimulator) withoutToken(o actors.Outcome) actors.Outcome {
	if o.Token != "" && o.Verdict != payment.VerdictCharged {
		sim.t.Errorf("what is %v came with a token", o.Verdict)
	}
	o.Token = ""
	return o
}

// id returns the UUID with the number n.
func id(n uint64) (u ledger.ID) {
	binary.BigEndian.PutUint64(u[8:], n)
	return u
}

func terminal(fail string) *directory.Terminal {
	return &directory.Terminal{ID: id(7), Parameters: &Params{Fail: fail}}
}

func cardCall(n uint64, operation actors.Operation, number string) *actors.Call {
	c := methodCall(n, operation, "bank_card")
	c.Card = &secret.Card{Number: []byte(number)}
	return c
}

func methodCall(n uint64, operation actors.Operation, method string) *actors.Call {
	return &actors.Call{
		Org: id(99), Reference: id(n), Operation: operation, Terminal: terminal(""),
		Amount: money.FromUint64(1000), Asset: usd, Method: method, ReturnURL: func() string { return returnURL },
	}
}

// heldCall makes the call authorise only.
func heldCall(c *actors.Call) *actors.Call {
	c.Hold = true
	return c
}

// followUpCall returns a call about a charge that was opened before.
func followUpCall(n uint64, operation actors.Operation, request, amount uint64) *actors.Call {
	return &actors.Call{
		Org: id(99), Reference: id(n), Operation: operation, Request: id(request), Terminal: terminal(""),
		Amount: money.FromUint64(amount), Asset: usd, Method: "bank_card",
	}
}

// completeCall returns a Complete call, which has the payer's card again.
func completeCall(n, request uint64, number string) *actors.Call {
	c := followUpCall(n, actors.Complete, request, 0)
	c.Card = &secret.Card{Number: []byte(number)}
	return c
}

func chargedOutcome(n uint64) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictCharged, RRN: retrievalNumber(id(n))}
}

func heldOutcome(n uint64) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictHeld, RRN: retrievalNumber(id(n))}
}

// failureOf is the expected failure for each of the rail's reasons, written by hand.
var failureOf = map[string]payment.Failure{
	"card_declined":              {Code: "card_declined"},
	"insufficient_funds":         {Code: "insufficient_funds"},
	"expired_card":               {Code: "expired_card"},
	"processing_error":           {Code: "processing_error"},
	"forced_by_terminal":         {Code: "forced_by_terminal"},
	"authentication_failed":      {Code: "authentication_failed"},
	"refund_refused_by_issuer":   {Code: "refund_refused"},
	"unknown_token":              {Code: "card_declined", Detail: "The stored credential is not known to the provider."},
	"method_not_accepted":        {Code: "processing_error", Detail: "The provider does not take this method."},
	"card_missing":               {Code: "processing_error", Detail: "The card's data did not reach the provider."},
	"unknown_destination":        {Code: "processing_error", Detail: "The receiving institution is not known to the provider."},
	"reference_in_use":           {Code: "processing_error", Detail: "The provider has another charge of that reference."},
	"not_held":                   {Code: "processing_error", Detail: "The provider holds no money for it."},
	"amount_above_authorization": {Code: "processing_error", Detail: "The amount is above what the provider holds."},
	"amount_missing":             {Code: "processing_error", Detail: "The provider was given no amount."},
	"already_charged":            {Code: "processing_error", Detail: "The provider has charged it already."},
	"voided":                     {Code: "cancelled"},
	"amount_above_charge":        {Code: "refund_refused", Detail: "The amount is above what is left of the charge."},
	"not_settled":                {Code: "refund_refused", Detail: "The charge has not settled at the provider."},
	"taken_back":                 {Code: "refund_refused", Detail: "The charge was taken back at the provider."},
	"simulator_log_unwritable":   {Code: "processing_error", Detail: "The provider could not be reached."},
	"return_url_too_long":        {Code: "processing_error", Detail: "The address to return the payer to is too long for the provider."},
}

func TestEveryReasonMapsToAFailure(t *testing.T) {
	if !maps.Equal(failures, failureOf) {
		t.Errorf("the rail's reasons are %v, want %v", failures, failureOf)
	}
	reasonOf := make(map[payment.Failure]string)
	for reason, f := range failureOf {
		if other, twice := reasonOf[f]; twice {
			t.Errorf("%s and %s can't be told apart", reason, other)
		}
		reasonOf[f] = reason
	}
}

func refusedOutcome(reason string) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf[reason]}
}

func pendingOutcome(again time.Duration) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: again}
}

var (
	notFoundOutcome = actors.Outcome{Verdict: payment.VerdictNotFound}
	unknownOutcome  = actors.Outcome{Verdict: payment.VerdictUnknown}
	readyOutcome    = actors.Outcome{Verdict: payment.VerdictReady}
	waitingOutcome  = actors.Outcome{Verdict: payment.VerdictAction, KeepCard: true} // a card's charge, as an inquiry returns it
	grantedOutcome  = actors.Outcome{Verdict: payment.VerdictCharged}                // a void, or a refund
)

func (sim *testSimulator) expect(what string, got, want actors.Outcome) {
	sim.t.Helper()
	if !reflect.DeepEqual(got, want) {
		sim.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

const (
	lineTail   = `","org":"00000000-0000-0000-0000-000000000063","sum":"`
	lineMiddle = `","terminal":"00000000-0000-0000-0000-000000000007","operation":"`
	lineHead   = `{"reference":"00000000-0000-0000-0000-00000000000`
)

// contentWithoutSums returns the log without its checksums.
func (sim *testSimulator) contentWithoutSums() string {
	var out bytes.Buffer
	for text := range bytes.Lines(sim.content()) {
		out.Write(text[:len(text)-len(`03894ef9"}`+"\n")])
		out.WriteByte('\n')
	}
	return out.String()
}

// expectLog compares the log with the wanted lines. The test gives only the part of each line between
// lineHead and lineTail.
func (sim *testSimulator) expectLog(want ...string) {
	sim.t.Helper()
	var all string
	for _, record := range want {
		all += lineHead + record + lineTail + "\n"
	}
	if got := sim.contentWithoutSums(); got != all {
		sim.t.Errorf("the log is\n%swant\n%s", got, all)
	}
}

func TestLinesHaveTheDocumentedForm(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.submit(cardCall(2, actors.PayOut, "4000000000000077"))
	sim.submit(cardCall(3, actors.Pay, "4000000000000341"))
	sim.submit(cardCall(4, actors.Pay, "4000000000000259"))
	sim.submit(cardCall(5, actors.Pay, "4000000000000002"))
	sim.submit(heldCall(cardCall(6, actors.Pay, "4242424242424242")))
	sim.submit(cardCall(7, actors.Pay, "4000000000007726"))
	sim.submit(cardCall(8, actors.Pay, "4000002500003155"))
	sim.expectLog(
		`1`+lineMiddle+`payment","outcome":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`2`+lineMiddle+`payout","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.123456Z","amount":"1000`,
		`3`+lineMiddle+`payment","outcome":"unknown","then":"charged","at":"2026-11-21T10:15:40.123456Z","amount":"1000`,
		`4`+lineMiddle+`payment","outcome":"charged","then":"reversed","at":"2026-11-21T10:16:30.123456Z","amount":"1000`,
		`5`+lineMiddle+`payment","outcome":"refused","reason":"card_declined","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`6`+lineMiddle+`payment","outcome":"held","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`7`+lineMiddle+`payment","outcome":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","refunds":"delayed`,
		`8`+lineMiddle+`payment","outcome":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"otp`,
	)
	if info, err := os.Stat(sim.path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if sim.Name() != "simulator" {
		t.Errorf("name %q", sim.Name())
	}
}

func TestLineEndsWithItsChecksum(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	// The expected sum is the CRC-32C of the line up to `,"sum"`, computed by another implementation.
	if sum := sim.logLines()[0]["sum"]; sum != "5e257bf2" {
		t.Errorf("the sum is %s of %s", sum, sim.content())
	}
}

func TestALaterLineHasTheWholeCharge(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, chargebackCard)))
	length := len(sim.content())
	sim.advance(time.Second)
	sim.submit(followUpCall(1, actors.Capture, 11, 900))
	sim.advance(time.Second)
	sim.submit(followUpCall(1, actors.Refund, 12, 400))
	sim.submit(followUpCall(1, actors.Refund, 13, 501))
	sim.submit(followUpCall(1, actors.Refund, 14, 500))
	sim.submit(followUpCall(1, actors.Refund, 12, 400)) // a repeated call
	sim.submit(followUpCall(2, actors.Void, 15, 0))
	const (
		charge         = `"charge":"payment","status":"charged"`
		request        = `"request":"00000000-0000-0000-0000-00000000000`
		reversedFields = `"then":"reversed","at":"2026-11-21T10:16:31.123456Z","amount":"1000`
		keptFields     = `"then":"kept","at":"2026-11-21T10:16:31.123456Z","amount":"1000`
	)
	var lineStarts []int // where each line begins
	for i, c := range sim.content() {
		if c == '{' {
			lineStarts = append(lineStarts, i)
		}
	}
	before := func(i int) string { return fmt.Sprintf(`","before":"%d`, lineStarts[i]) }
	sim.expectLog(
		`1`+lineMiddle+`payment","outcome":"held","then":"reversed","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`1`+lineMiddle+`capture",`+request+`b","outcome":"charged",`+charge+`,"captured":"900",`+reversedFields+before(0),
		`1`+lineMiddle+`refund",`+request+`c","outcome":"charged",`+charge+`,"captured":"900","refunded":"400",`+reversedFields+before(1),
		`1`+lineMiddle+`refund",`+request+`d","outcome":"refused","reason":"amount_above_charge",`+charge+`,"captured":"900","refunded":"400",`+reversedFields+before(2),
		`1`+lineMiddle+`refund",`+request+`e","outcome":"charged",`+charge+`,"captured":"900","refunded":"900",`+keptFields+before(3),
		`1`+lineMiddle+`refund",`+request+`c","outcome":"charged",`+charge+`,"captured":"900","refunded":"900",`+keptFields+before(4),
		`2`+lineMiddle+`void",`+request+`f","outcome":"unknown_reference`,
	)
	if lineStarts[1] != length {
		t.Errorf("the second line begins at %d, want %d", lineStarts[1], length)
	}
}

func TestInquiriesWriteNothing(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4000000000000341"))
	before := sim.content()
	sim.inquire(1)
	sim.inquire(2)
	sim.inquireAbout(1, actors.Refund, 3)
	if after := sim.content(); !bytes.Equal(before, after) {
		t.Errorf("the log grew by %q", after[len(before):])
	}
}

func TestInquiriesWorkAfterAReopen(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.submit(cardCall(2, actors.Pay, "4000000000000077"))
	sim.submit(cardCall(3, actors.Pay, "4000000000000341"))
	sim.submit(cardCall(4, actors.Pay, "4000000000009995"))
	sim.submit(cardCall(5, actors.Pay, "4000000000000119"))
	for _, step := range []struct {
		wait       time.Duration
		slow, lost actors.Outcome
	}{
		{0, pendingOutcome(5 * time.Second), pendingOutcome(10 * time.Second)},
		{5*time.Second - time.Microsecond, pendingOutcome(time.Microsecond), pendingOutcome(5*time.Second + time.Microsecond)},
		{time.Microsecond, chargedOutcome(2), pendingOutcome(5 * time.Second)},
		{5 * time.Second, chargedOutcome(2), chargedOutcome(3)},
		{1000 * time.Hour, chargedOutcome(2), chargedOutcome(3)},
	} {
		sim.advance(step.wait)
		sim.reopen()
		sim.expect("charged", sim.inquire(1), chargedOutcome(1))
		sim.expect("delayed", sim.inquire(2), step.slow)
		sim.expect("timed out", sim.inquire(3), step.lost)
		sim.expect("declined", sim.inquire(4), refusedOutcome("insufficient_funds"))
		sim.expect("failed", sim.inquire(5), actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf["processing_error"]})
		sim.expect("never made", sim.inquire(6), notFoundOutcome)
	}
}

func TestRepeatedCallIsLoggedAndGetsTheFirstOutcome(t *testing.T) {
	sim := open(t)
	sim.expect("first", sim.submit(cardCall(1, actors.Pay, "4000000000000077")), pendingOutcome(5*time.Second))
	sim.advance(2 * time.Second)
	sim.expect("second, with another card", sim.submit(cardCall(1, actors.Pay, "4000000000000002")), pendingOutcome(3*time.Second))
	sim.reopen()
	sim.advance(3 * time.Second)
	sim.expect("third, after a reopen", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	sim.expect("inquiry", sim.inquire(1), chargedOutcome(1))
	lines := bytes.SplitAfter(sim.content(), []byte("\n"))
	if len(lines) != 4 || !bytes.Equal(lines[0], lines[1]) || !bytes.Equal(lines[0], lines[2]) {
		t.Errorf("the log is %s", sim.content())
	}
}

func TestChargesOfTwoTerminalsAreSeparate(t *testing.T) {
	sim := open(t)
	other := cardCall(1, actors.Pay, "4242424242424242")
	other.Terminal = terminal("rejected")
	other.Terminal.ID = id(8)
	sim.expect("first terminal", sim.submit(other), refusedOutcome("forced_by_terminal"))
	sim.expect("the next one", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	sim.reopen()
	sim.expect("inquiry at the first", sim.Inquire(context.Background(), &actors.Inquiry{Terminal: other.Terminal, Reference: id(1), Operation: actors.Pay}), refusedOutcome("forced_by_terminal"))
	sim.expect("inquiry at the next", sim.inquire(1), chargedOutcome(1))
	refund := followUpCall(1, actors.Refund, 2, 10)
	refund.Terminal = other.Terminal
	sim.expect("refund at the first", sim.submit(refund), refusedOutcome("not_settled"))
	sim.expect("refund at the next", sim.submit(followUpCall(1, actors.Refund, 2, 10)), grantedOutcome)
}

func TestTheRetrievalNumberNeverChanges(t *testing.T) {
	for text, want := range map[string]string{
		"00000000-0000-0000-0000-000000000000": "869469701221",
		"00000000-0000-0000-0000-000000000001": "769958073010",
		"00000000-0000-0000-0000-0000000000bf": "008051072552", // leading zeros are kept
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8": "647429769244",
	} {
		var reference ledger.ID
		if err := reference.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := retrievalNumber(reference); got != want {
			t.Errorf("%s has %s, want %s", text, got, want)
		}
	}
}

func TestAClosedLogChargesNothing(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	sim.expect("submit", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), unwritableOutcome)
	sim.expect("inquiry", sim.inquire(1), unknownOutcome)
	sim.open()
	sim.expect("inquiry about the call that was not sent", sim.inquire(2), notFoundOutcome)
}

func TestALogThatCannotBeOpenedIsAnError(t *testing.T) {
	sim := open(t)
	for what, change := range map[string]func(o *Options){
		"a directory":             func(o *Options) { o.Path = filepath.Dir(sim.path) },
		"no such directory":       func(o *Options) { o.Path = filepath.Join(sim.path, "none", "simulator.log") },
		"no key":                  func(o *Options) { o.Key = nil },
		"a key that is too short": func(o *Options) { o.Key = testKey[:KeySize-1] },
		"a key that is too long":  func(o *Options) { o.Key = make([]byte, KeySize+1) },
	} {
		o := sim.options()
		change(&o)
		if s, err := Open(o); err == nil || s != nil {
			t.Errorf("%s: opened", what)
		}
	}
}

func TestALineWithoutAnAmountIsReadable(t *testing.T) {
	sim := open(t)
	body := lineHead + `1` + lineMiddle + `payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.123456Z` + lineTail
	text := []byte(body[:len(body)-len(sumKey)])
	text = appendSum(text, text)
	sim.reopenWith(text)
	sim.expect("inquiry", sim.inquire(1), pendingOutcome(5*time.Second))
	sim.advance(5 * time.Second)
	sim.expect("inquiry, later", sim.inquire(1), chargedOutcome(1))
	sim.expect("refund of a charge without an amount", sim.submit(followUpCall(1, actors.Refund, 2, 1)), refusedOutcome("amount_above_charge"))
}
