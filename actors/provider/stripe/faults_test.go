package stripe_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mizan/internal/stripestub"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// flow is what a merchant does. It ends with nothing under way unless answers are lost.
type flow struct {
	name   string
	params params
	calls  []string // the requests that change something, as method and path, each of which fails once
	run    func(*fixture)
}

var (
	createsMethod   = "POST /v1/payment_methods"
	createsCustomer = "POST /v1/customers"
	createsIntent   = "POST /v1/payment_intents"
	confirms        = "POST /v1/payment_intents/*/confirm"
	captures        = "POST /v1/payment_intents/*/capture"
	cancels         = "POST /v1/payment_intents/*/cancel"
	refunds         = "POST /v1/refunds"
	readsIntent     = "GET /v1/payment_intents/*"
	listsRefunds    = "GET /v1/refunds"
)

var flows = []flow{
	{"payment and refunds in parts", nil, []string{createsMethod, createsCustomer, createsIntent, confirms, refunds}, func(f *fixture) {
		r := f.pay(goodCard, 1000)
		f.settle()
		if f.read(r.ID).Status == payment.Charged {
			f.tryRefund(r.ID, 300)
			f.settle()
			f.tryRefund(r.ID, 700)
		}
	}},
	{"declined card", params{"save_cards": false}, []string{createsIntent, confirms}, func(f *fixture) { f.pay(poorCard, 1000) }},
	{"hold and partial capture", params{"two_phase": true}, []string{confirms, captures}, func(f *fixture) {
		r := f.pay(goodCard, 1000)
		f.settle()
		if f.read(r.ID).Status.IsHeld() {
			_, _ = f.Commit(amountCommand(r.ID, 600)) // another error would leave the hold
		}
	}},
	{"hold and release", params{"two_phase": true}, []string{confirms, cancels}, func(f *fixture) {
		r := f.pay(goodCard, 1000)
		f.settle()
		if f.read(r.ID).Status.IsHeld() {
			_, _ = f.Cancel(command(r.ID))
		}
	}},
	{"3-D Secure", nil, []string{confirms, readsIntent}, func(f *fixture) {
		r := f.pay(challengeCard, 1000)
		if r.Status == payment.ActionRequired {
			f.authenticate(r, true)
			_, _ = f.OnReturn(org, r.ID)
		}
	}},
	{"pending refund", nil, []string{refunds, listsRefunds}, func(f *fixture) {
		r := f.pay(pendingRefund, 1000)
		if r.Status == payment.Charged {
			f.tryRefund(r.ID, 1000)
		}
	}},
}

// tryRefund requests a refund whose answer may be lost.
func (f *fixture) tryRefund(id ledger.ID, amount uint64) {
	f.t.Helper()
	if _, err := f.Refund(amountCommand(id, amount)); err != nil {
		f.t.Errorf("refund: %v", err)
	}
}

// brokenCalls are ways in which a call fails at Stripe.
var brokenCalls = map[string]stripestub.Fault{
	"cut before the execution":     {Effect: stripestub.Close},
	"cut after the execution":      {Effect: stripestub.Close, After: true},
	"cut in the answer":            {Effect: stripestub.Truncated, After: true},
	"a proxy's page":               {Effect: stripestub.Garbage},
	"a proxy's page instead of it": {Effect: stripestub.Garbage, After: true},
	"in use":                       {Effect: stripestub.Fail, Status: 409, Code: "idempotency_key_in_use"},
	"once rate limited":            {Effect: stripestub.Fail, Status: 429, Code: "rate_limit"},
	"rate limited":                 {Effect: stripestub.Fail, Status: 429, Code: "lock_timeout", Times: 10},
	"fault before the execution":   {Effect: stripestub.Fail, Status: 500},
	"fault that is stored":         {Effect: stripestub.Fail, Status: 500, After: true},
	"unavailable":                  {Effect: stripestub.Fail, Status: 503, Times: 3},
	"unavailable after executions": {Effect: stripestub.Fail, Status: 503, After: true, Times: 2},
}

// Whatever happens to a call, after some time the ledger has what has moved at Stripe, and nothing has moved twice.
func TestLedgerAgreesWithStripeAfterEveryFault(t *testing.T) {
	for _, flow := range flows {
		t.Run(flow.name, func(t *testing.T) {
			t.Parallel()
			f := open(t, flow.params)
			for _, call := range flow.calls {
				for name, fault := range brokenCalls {
					if testing.Short() && fault.Times == 10 {
						continue // waits in real time
					}
					method, path, _ := strings.Cut(call, " ")
					fault.Method, fault.Path = method, path
					planned := f.stub.Plan(fault)
					flow.run(f)
					f.settle()
					f.wantAgreement()
					if planned.Hits() == 0 && !strings.HasPrefix(call, "GET") {
						t.Errorf("%s, %s: the call was never made", call, name)
					}
					f.exhaust(planned)
					if t.Failed() {
						t.Fatalf("after %s, %s", call, name)
					}
				}
			}
		})
	}
}

// exhaust makes requests until a fault no longer applies.
func (f *fixture) exhaust(planned *stripestub.Planned) {
	for planned.Times > 0 && planned.Hits() < planned.Times {
		request, err := http.NewRequest(planned.Method, f.stub.URL+strings.ReplaceAll(planned.Path, "*", "none"), nil)
		if err != nil {
			f.t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
		}
	}
}

// Without a connection nothing is sent; a saved card can be charged later, and an operation can be requested again.
func TestStripeThatCannotBeReached(t *testing.T) {
	f := open(t, params{"two_phase": true})
	r := f.pay(goodCard, 1000)
	f.cutOff()
	f.want(f.pay(goodCard, 1000).ID, payment.Failed, payment.ProcessingError)
	f.must(f.Commit(amountCommand(r.ID, 1000)))
	f.want(r.ID, payment.PaymentHeld, payment.ProcessingError)
	f.stub.Reconnect()
	f.must(f.Commit(amountCommand(r.ID, 1000)))
	f.want(r.ID, payment.Charged, "")
	f.cutOff()
	f.must(f.Refund(amountCommand(r.ID, 1000)))
	f.stub.Reconnect()
	f.settle()
	f.want(r.ID, payment.Charged, "")
	f.wantAgreement()
}

// cutOff makes the stub refuse connections, and leaves none open: a request on a connection that is already closed may have arrived.
func (f *fixture) cutOff() {
	f.t.Helper()
	f.Runtime.Quiesce()
	f.stub.Disconnect()
	if err := f.provider.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// The answer to the creation is lost, so the terminal's charge was certainly not made, and another terminal may be tried.
func TestAnotherTerminalIsTriedAfterALostCreation(t *testing.T) {
	for _, call := range []string{createsMethod, createsCustomer, createsIntent} {
		f := open(t, nil)
		second := f.addTerminal(directory.PaymentTerminal, params{"priority": 2})
		method, path, _ := strings.Cut(call, " ")
		f.stub.Plan(stripestub.Fault{Method: method, Path: path, After: true, Effect: stripestub.Close})
		if r := f.want(f.pay(goodCard, 1000).ID, payment.Charged, ""); r.Terminal != second.ID {
			t.Errorf("%s: charged at the first terminal", call)
		}
		f.wantAgreement()
	}
}

// The answer to the confirmation is lost, so the charge may have been made, and no other terminal is tried.
func TestNoOtherTerminalIsTriedAfterALostConfirmation(t *testing.T) {
	for _, isExecuted := range []bool{false, true} {
		f := open(t, nil)
		f.addTerminal(directory.PaymentTerminal, params{"priority": 2})
		f.stub.Plan(stripestub.Fault{Path: "/v1/payment_intents/*/confirm", After: isExecuted, Effect: stripestub.Close})
		r := f.pay(goodCard, 1000)
		f.want(r.ID, payment.Charging, "")
		f.settle()
		if isExecuted {
			r = f.want(r.ID, payment.Charged, "")
		} else {
			r = f.want(r.ID, payment.Failed, payment.Interrupted)
			if _, err := f.stub.Authenticate(intentOf(t, r), true); err == nil {
				t.Error("the intent is open")
			}
		}
		if r.Terminal != f.terminals[0].ID {
			t.Error("another terminal was tried")
		}
		f.wantAgreement()
	}
}

// A renewal whose confirmation was lost is confirmed again, with another key: Stripe would repeat a stored failure for a day.
func TestLostRenewalIsConfirmedAgain(t *testing.T) {
	for name, fault := range brokenCalls {
		f := open(t, nil)
		r := f.pay(goodCard, 1000)
		fault.Path = "/v1/payment_intents/*/confirm"
		f.stub.Plan(fault)
		renewed := f.renew(r.ID)
		f.settle()
		if got := f.read(renewed.ID); got.Status != payment.Charged {
			t.Errorf("%s: the renewal is %s %s\n%s", name, got.Status, got.Failure.Code, f.log)
		}
		f.wantAgreement()
		keys := make(map[string]int)
		for _, request := range f.sent() {
			if strings.HasSuffix(request.Path, "/confirm") {
				keys[request.IdempotencyKey]++
			}
		}
		for key, n := range keys {
			if n > 1 && !strings.Contains(name, "rate limited") {
				t.Errorf("%s: the key %s was sent %d times", name, key, n)
			}
		}
	}
}

// A call is repeated only after 429, and only with the same key.
func TestRateLimitIsAwaitedWithTheSameKey(t *testing.T) {
	f := open(t, nil)
	f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/payment_intents/*/confirm", Effect: stripestub.Fail, Status: 429, Code: "rate_limit", Times: 2})
	f.want(f.pay(goodCard, 1000).ID, payment.Charged, "")
	var keys []string
	for _, request := range f.sent() {
		if strings.HasSuffix(request.Path, "/confirm") {
			keys = append(keys, request.IdempotencyKey)
		}
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("keys %q", keys)
	}
	f.wantAgreement()
}

// Stripe is silent for longer than a call may take.
func TestSilenceIsUnknown(t *testing.T) {
	f := open(t, nil)
	held := f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/payment_intents/*/confirm", Hold: true})
	r := f.pay(goodCard, 1000)
	f.want(r.ID, payment.Charging, "")
	held.Release() // the confirmation is executed now
	f.settle()
	f.wantAgreement()
}

// A confirmation that arrives after the inquiry has cancelled the intent charges nothing.
func TestConfirmationThatArrivesLateChargesNothing(t *testing.T) {
	f := open(t, nil)
	held := f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/payment_intents/*/confirm", Hold: true})
	r := f.pay(goodCard, 1000)
	f.settle()
	f.want(r.ID, payment.Failed, payment.Interrupted)
	held.Release()
	f.advance(time.Hour)
	f.want(r.ID, payment.Failed, payment.Interrupted)
	f.wantAgreement()
}

// The process of the service ends at every point of a charge, before and after each request is executed.
func TestRestartDuringEveryCall(t *testing.T) {
	for _, call := range []string{createsMethod, createsCustomer, createsIntent, confirms, refunds} {
		for _, isExecuted := range []bool{false, true} {
			t.Run(fmt.Sprint(call, isExecuted), func(t *testing.T) {
				t.Parallel()
				f := open(t, nil)
				method, path, _ := strings.Cut(call, " ")
				first := f.pay(goodCard, 1000)
				held := f.stub.Plan(stripestub.Fault{Method: method, Path: path, Hold: true, After: isExecuted, Effect: stripestub.Close})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if call == refunds {
						_, _ = f.Refund(amountCommand(first.ID, 400)) // the answer is lost
					} else {
						_, _ = f.tryPay(goodCard, 1000)
					}
				}()
				<-held.Arrived()
				f.stop()
				held.Release()
				<-ended
				f.start()
				f.Runtime.Quiesce()
				f.created = f.everyTransaction()
				f.settle()
				f.wantAgreement()
				want := int64(1000)
				if call == confirms && isExecuted {
					want = 2000
				}
				if call == refunds {
					want = 600
				}
				if got := f.owed(); got != want {
					t.Errorf("Stripe owes %d, want %d", got, want)
				}
			})
		}
	}
}

// everyTransaction returns the ids of all stored transactions.
func (f *fixture) everyTransaction() (ids []ledger.ID) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	seen := make(map[ledger.ID]bool)
	err := v.Events(org, 0, func(e ledger.Event) (bool, error) {
		if e.Source.Kind == ledger.Transaction && !seen[e.Source.ID] {
			seen[e.Source.ID] = true
			ids = append(ids, e.Source.ID)
		}
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return ids
}
