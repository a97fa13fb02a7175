package simulator

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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

// bench is a simulator on its own file, with its clock.
type bench struct {
	*Simulator
	t     testing.TB
	path  string
	clock *clock.Manual
}

func open(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(inMemory(t), "simulator.log"), clock: clock.NewManual(start)}
	b.open()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// inMemory returns a directory on a disk in memory, if there is one, because thousands of syncs of
// a real disk would only cost time.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mizan-simulator-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (b *bench) options() Options {
	return Options{Path: b.path, Clock: b.clock, BaseURL: baseURL, Key: testKey}
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.Simulator, err = Open(b.options()); err != nil {
		b.t.Fatal(err)
	}
}

// reopen restarts the simulator, whose memory is lost.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *bench) advance(d time.Duration) {
	b.t.Helper()
	if err := b.clock.Set(b.clock.Now().Add(d)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) content() []byte {
	b.t.Helper()
	content, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

// logLines returns the file's lines, decoded by a generic JSON reader.
func (b *bench) logLines() []map[string]string {
	b.t.Helper()
	var list []map[string]string
	for _, record := range bytes.SplitAfter(b.content(), []byte("\n")) {
		if len(record) == 0 {
			continue
		}
		var fields map[string]string
		if err := json.Unmarshal(record, &fields); err != nil || record[len(record)-1] != '\n' {
			b.t.Fatalf("line %q: %v", record, err)
		}
		list = append(list, fields)
	}
	return list
}

// countLines returns how many lines of the log are about an operation of a charge.
func (b *bench) countLines(n uint64, operation string) int {
	b.t.Helper()
	count := 0
	for _, record := range b.logLines() {
		if record["reference"] == id(n).String() && record["operation"] == operation {
			count++
		}
	}
	return count
}

// inquire inquires about a payment itself, not about an operation on it.
func (b *bench) inquire(n uint64) actors.Outcome { return b.inquireAbout(n, actors.Pay, 0) }

// inquireAbout inquires about an operation at terminal 7, as a caller to whom the payer's action is
// known.
func (b *bench) inquireAbout(n uint64, operation actors.Operation, request uint64) actors.Outcome {
	q := inquiryOf(n, operation)
	q.Request, q.ActionKnown = id(request), true
	return b.Inquire(context.Background(), q)
}

// inquiryOf returns an inquiry of a caller to whom the payer's action is not known.
func inquiryOf(n uint64, operation actors.Operation) *actors.Question {
	return &actors.Question{Terminal: terminal(""), Reference: id(n), Operation: operation}
}

func (b *bench) submit(c *actors.Call) actors.Outcome { return b.Submit(context.Background(), c) }

// Submit calls the simulator's Submit and removes the token from the outcome.
func (b *bench) Submit(ctx context.Context, c *actors.Call) actors.Outcome {
	return b.untokened(b.Simulator.Submit(ctx, c))
}

// Inquire calls the simulator's Inquire and removes the token from the outcome.
func (b *bench) Inquire(ctx context.Context, q *actors.Question) actors.Outcome {
	return b.untokened(b.Simulator.Inquire(ctx, q))
}

// untokened removes the token from an outcome, which tokens_test.go tests; only the outcome of a
// charged payment may have one.
func (b *bench) untokened(o actors.Outcome) actors.Outcome {
	if o.Token != "" && o.Verdict != payment.VerdictCharged {
		b.t.Errorf("what is %v came with a token", o.Verdict)
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

// heldCall turns the call into one that authorises only.
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

// completeCall returns a Complete with the card that was kept.
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
	return actors.Outcome{Verdict: payment.VerdictPending, Again: again}
}

var (
	notFound  = actors.Outcome{Verdict: payment.VerdictNotFound}
	isUnknown = actors.Outcome{Verdict: payment.VerdictUnknown}
	isReady   = actors.Outcome{Verdict: payment.VerdictReady}
	isWaiting = actors.Outcome{Verdict: payment.VerdictAction, KeepCard: true} // a card's charge, as an inquiry returns it
	isGranted = actors.Outcome{Verdict: payment.VerdictCharged}                // a void, or a refund
)

func (b *bench) expect(what string, got, want actors.Outcome) {
	b.t.Helper()
	if !reflect.DeepEqual(got, want) {
		b.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// newRandom returns a source whose seed is printed; MIZAN_SEED repeats a run.
func newRandom(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		amount, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("MIZAN_SEED: %v", err)
		}
		seed = amount
	}
	t.Logf("MIZAN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

const (
	lineTail   = `","org":"00000000-0000-0000-0000-000000000063","sum":"`
	lineMiddle = `","terminal":"00000000-0000-0000-0000-000000000007","operation":"`
	lineHead   = `{"reference":"00000000-0000-0000-0000-00000000000`
)

// unsealed returns the log without its checksums.
func (b *bench) unsealed() string {
	var out bytes.Buffer
	for record := range bytes.Lines(b.content()) {
		out.Write(record[:len(record)-len(`03894ef9"}`+"\n")])
		out.WriteByte('\n')
	}
	return out.String()
}

func (b *bench) expectLog(want ...string) {
	b.t.Helper()
	var all string
	for _, record := range want {
		all += lineHead + record + lineTail + "\n"
	}
	if got := b.unsealed(); got != all {
		b.t.Errorf("the log is\n%swant\n%s", got, all)
	}
}

func TestLinesHaveTheDocumentedForm(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.PayOut, "4000000000000077"))
	b.submit(cardCall(3, actors.Pay, "4000000000000341"))
	b.submit(cardCall(4, actors.Pay, "4000000000000259"))
	b.submit(cardCall(5, actors.Pay, "4000000000000002"))
	b.submit(heldCall(cardCall(6, actors.Pay, "4242424242424242")))
	b.submit(cardCall(7, actors.Pay, "4000000000007726"))
	b.submit(cardCall(8, actors.Pay, "4000002500003155"))
	b.expectLog(
		`1`+lineMiddle+`payment","outcome":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`2`+lineMiddle+`payout","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.123456Z","amount":"1000`,
		`3`+lineMiddle+`payment","outcome":"unknown","then":"charged","at":"2026-11-21T10:15:40.123456Z","amount":"1000`,
		`4`+lineMiddle+`payment","outcome":"charged","then":"reversed","at":"2026-11-21T10:16:30.123456Z","amount":"1000`,
		`5`+lineMiddle+`payment","outcome":"refused","reason":"card_declined","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`6`+lineMiddle+`payment","outcome":"held","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`7`+lineMiddle+`payment","outcome":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","refunds":"delayed`,
		`8`+lineMiddle+`payment","outcome":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"otp`,
	)
	if info, err := os.Stat(b.path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if b.Name() != "simulator" {
		t.Errorf("name %q", b.Name())
	}
}

func TestLineEndsWithItsChecksum(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	// The expected sum is the CRC-32C of the line up to `,"sum"`, computed by another implementation.
	if sum := b.logLines()[0]["sum"]; sum != "5e257bf2" {
		t.Errorf("the sum is %s of %s", sum, b.content())
	}
}

func TestALaterLineHasTheWholeCharge(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, chargebackCard)))
	length := len(b.content())
	b.advance(time.Second)
	b.submit(followUpCall(1, actors.Capture, 11, 900))
	b.advance(time.Second)
	b.submit(followUpCall(1, actors.Refund, 12, 400))
	b.submit(followUpCall(1, actors.Refund, 13, 501))
	b.submit(followUpCall(1, actors.Refund, 14, 500))
	b.submit(followUpCall(1, actors.Refund, 12, 400)) // repeated
	b.submit(followUpCall(2, actors.Void, 15, 0))
	const (
		charge     = `"charge":"payment","status":"charged"`
		request    = `"request":"00000000-0000-0000-0000-00000000000`
		captured   = `"then":"reversed","at":"2026-11-21T10:16:31.123456Z","amount":"1000`
		keptFields = `"then":"kept","at":"2026-11-21T10:16:31.123456Z","amount":"1000`
	)
	var lineStarts []int // where each line begins
	for i, c := range b.content() {
		if c == '{' {
			lineStarts = append(lineStarts, i)
		}
	}
	before := func(i int) string { return fmt.Sprintf(`","before":"%d`, lineStarts[i]) }
	b.expectLog(
		`1`+lineMiddle+`payment","outcome":"held","then":"reversed","at":"2026-11-21T10:15:30.123456Z","amount":"1000`,
		`1`+lineMiddle+`capture",`+request+`b","outcome":"charged",`+charge+`,"captured":"900",`+captured+before(0),
		`1`+lineMiddle+`refund",`+request+`c","outcome":"charged",`+charge+`,"captured":"900","refunded":"400",`+captured+before(1),
		`1`+lineMiddle+`refund",`+request+`d","outcome":"refused","reason":"amount_above_charge",`+charge+`,"captured":"900","refunded":"400",`+captured+before(2),
		`1`+lineMiddle+`refund",`+request+`e","outcome":"charged",`+charge+`,"captured":"900","refunded":"900",`+keptFields+before(3),
		`1`+lineMiddle+`refund",`+request+`c","outcome":"charged",`+charge+`,"captured":"900","refunded":"900",`+keptFields+before(4),
		`2`+lineMiddle+`void",`+request+`f","outcome":"unknown_reference`,
	)
	if lineStarts[1] != length {
		t.Errorf("the second line begins at %d, want %d", lineStarts[1], length)
	}
}

func TestInquiriesWriteNothing(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4000000000000341"))
	before := b.content()
	b.inquire(1)
	b.inquire(2)
	b.inquireAbout(1, actors.Refund, 3)
	if after := b.content(); !bytes.Equal(before, after) {
		t.Errorf("the log grew by %q", after[len(before):])
	}
}

func TestInquiriesWorkAfterAReopen(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.Pay, "4000000000000077"))
	b.submit(cardCall(3, actors.Pay, "4000000000000341"))
	b.submit(cardCall(4, actors.Pay, "4000000000009995"))
	b.submit(cardCall(5, actors.Pay, "4000000000000119"))
	for _, step := range []struct {
		pass       time.Duration
		slow, lost actors.Outcome
	}{
		{0, pendingOutcome(5 * time.Second), pendingOutcome(10 * time.Second)},
		{5*time.Second - time.Microsecond, pendingOutcome(time.Microsecond), pendingOutcome(5*time.Second + time.Microsecond)},
		{time.Microsecond, chargedOutcome(2), pendingOutcome(5 * time.Second)},
		{5 * time.Second, chargedOutcome(2), chargedOutcome(3)},
		{1000 * time.Hour, chargedOutcome(2), chargedOutcome(3)},
	} {
		b.advance(step.pass)
		b.reopen()
		b.expect("charged", b.inquire(1), chargedOutcome(1))
		b.expect("delayed", b.inquire(2), step.slow)
		b.expect("timed out", b.inquire(3), step.lost)
		b.expect("declined", b.inquire(4), refusedOutcome("insufficient_funds"))
		b.expect("failed", b.inquire(5), actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf["processing_error"]})
		b.expect("never made", b.inquire(6), notFound)
	}
}

func TestRepeatedCallIsLoggedAndGetsTheFirstOutcome(t *testing.T) {
	b := open(t)
	b.expect("first", b.submit(cardCall(1, actors.Pay, "4000000000000077")), pendingOutcome(5*time.Second))
	b.advance(2 * time.Second)
	b.expect("second, with another card", b.submit(cardCall(1, actors.Pay, "4000000000000002")), pendingOutcome(3*time.Second))
	b.reopen()
	b.advance(3 * time.Second)
	b.expect("third, after a reopen", b.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	b.expect("inquiry", b.inquire(1), chargedOutcome(1))
	lines := bytes.SplitAfter(b.content(), []byte("\n"))
	if len(lines) != 4 || !bytes.Equal(lines[0], lines[1]) || !bytes.Equal(lines[0], lines[2]) {
		t.Errorf("the log is %s", b.content())
	}
}

func TestChargesOfTwoTerminalsAreSeparate(t *testing.T) {
	b := open(t)
	other := cardCall(1, actors.Pay, "4242424242424242")
	other.Terminal = terminal("rejected")
	other.Terminal.ID = id(8)
	b.expect("first terminal", b.submit(other), refusedOutcome("forced_by_terminal"))
	b.expect("the next one", b.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	b.reopen()
	b.expect("inquiry at the first", b.Inquire(context.Background(), &actors.Question{Terminal: other.Terminal, Reference: id(1), Operation: actors.Pay}), refusedOutcome("forced_by_terminal"))
	b.expect("inquiry at the next", b.inquire(1), chargedOutcome(1))
	refund := followUpCall(1, actors.Refund, 2, 10)
	refund.Terminal = other.Terminal
	b.expect("refund at the first", b.submit(refund), refusedOutcome("not_settled"))
	b.expect("refund at the next", b.submit(followUpCall(1, actors.Refund, 2, 10)), isGranted)
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
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.expect("submit", b.submit(cardCall(2, actors.Pay, "4242424242424242")), unwritable)
	b.expect("inquiry", b.inquire(1), isUnknown)
	b.open()
	b.expect("inquiry about the call that was not sent", b.inquire(2), notFound)
}

func TestALogThatCannotBeOpenedIsAnError(t *testing.T) {
	b := open(t)
	for what, change := range map[string]func(o *Options){
		"a directory":             func(o *Options) { o.Path = filepath.Dir(b.path) },
		"no such directory":       func(o *Options) { o.Path = filepath.Join(b.path, "none", "simulator.log") },
		"no key":                  func(o *Options) { o.Key = nil },
		"a key that is too short": func(o *Options) { o.Key = testKey[:KeySize-1] },
		"a key that is too long":  func(o *Options) { o.Key = make([]byte, KeySize+1) },
	} {
		o := b.options()
		change(&o)
		if s, err := Open(o); err == nil || s != nil {
			t.Errorf("%s: opened", what)
		}
	}
}

func TestALineWithoutAnAmountIsReadable(t *testing.T) {
	b := open(t)
	body := lineHead + `1` + lineMiddle + `payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.123456Z` + lineTail
	text := appendSeal([]byte(body[:len(body)-len(sumKey)]))
	if err := os.WriteFile(b.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	b.expect("inquiry", b.inquire(1), pendingOutcome(5*time.Second))
	b.advance(5 * time.Second)
	b.expect("inquiry, later", b.inquire(1), chargedOutcome(1))
	b.expect("refund of a charge without an amount", b.submit(followUpCall(1, actors.Refund, 2, 1)), refusedOutcome("amount_above_charge"))
}
