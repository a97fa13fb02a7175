package stripestub

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	intentsPath = "/v1/payment_intents"
	paymentForm = "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&metadata[reference]=r1&payment_method="
	keyed       = "Idempotency-Key: k1"
)

// docs.stripe.com/api/idempotent_requests: the first answer is repeated byte for byte, also a decline.
func TestKeyRepeatsTheFirstAnswer(t *testing.T) {
	for method, want := range map[string]int{"pm_card_visa": 200, "pm_card_visa_chargeDeclined": 402} {
		f := start(t, Options{})
		first := f.post(intentsPath, paymentForm+method, keyed).expect(want)
		f.advance(24*time.Hour - time.Microsecond)
		again := f.post(intentsPath, paymentForm+method, keyed).expect(want)
		if !bytes.Equal(first.body, again.body) || first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("first %v %s\nagain %v %s", first.header, first.body, again.header, again.body)
		}
		if id := first.header.Get("Request-Id"); again.header.Get("Original-Request") != id || again.header.Get("Request-Id") == id {
			t.Errorf("headers %v", again.header)
		}
		f.check()
		f.advance(time.Microsecond) // the key is forgotten, so the adapter that repeats it now pays twice
		f.post(intentsPath, paymentForm+method, keyed).expect(want)
		if err := f.Check(); (want == 200) != (err != nil) {
			t.Errorf("after a day: %v", err)
		}
	}
}

func TestKeyIsForOneRequest(t *testing.T) {
	f := start(t, Options{})
	id := f.post(intentsPath, "amount=1000&currency=usd", keyed).expect(200).id()
	f.post(intentsPath, "amount=1001&currency=usd", keyed).expect(400, "error.type", "idempotency_error")
	f.post(intentsPath+"/"+id, "description=x", keyed).expect(400, "error.type", "idempotency_error")
	f.post("/v1/customers", "", "Idempotency-Key: k2").expect(200)
	f.post(intentsPath+"/"+id+"/cancel", "", "Idempotency-Key: k2").expect(400, "error.type", "idempotency_error") // the same parameters, elsewhere
	f.post(intentsPath, "currency=usd&amount=1000", keyed).expect(200, "id", id)                                   // another order of the parameters
	f.post(intentsPath, "amount=1000&currency=usd", "Idempotency-Key: "+strings.Repeat("k", 256)).expect(400)
	f.post(intentsPath, "amount=1000&currency=usd", "Idempotency-Key: "+strings.Repeat("k", 255)).expect(200)
}

// What fails before the execution leaves the key free: wrong parameters and rate limits.
func TestKeyStaysFreeWithoutExecution(t *testing.T) {
	f := start(t, Options{})
	f.post(intentsPath, "amount=x&currency=usd", keyed).expect(400)
	f.Plan(Fault{Effect: Fail, Status: 429, Code: "rate_limit", Header: http.Header{"Retry-After": {"2"}, "Stripe-Should-Retry": {"true"}}})
	limited := f.post(intentsPath, paymentForm+"pm_card_visa", keyed).expect(429, "error.code", "rate_limit")
	if limited.header.Get("Retry-After") != "2" || limited.header.Get("Stripe-Should-Retry") != "true" {
		t.Errorf("headers %v", limited.header)
	}
	r := f.post(intentsPath, paymentForm+"pm_card_visa", keyed).expect(200)
	if r.header.Get("Idempotent-Replayed") != "" {
		t.Error("nothing was there to repeat")
	}
	// An execution that fails uses the key up.
	id := f.post(intentsPath, "amount=1000&currency=usd").id()
	f.post(intentsPath+"/"+id+"/capture", "", "Idempotency-Key: k2").expect(400)
	if r := f.post(intentsPath+"/"+id+"/capture", "", "Idempotency-Key: k2").expect(400); r.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the refusal of the execution is not repeated")
	}
	f.check()
}

func TestKeyOfARunningRequestIsInUse(t *testing.T) {
	for _, isAfter := range []bool{false, true} {
		f := start(t, Options{})
		held := f.Plan(Fault{Hold: true, After: isAfter})
		done := make(chan reply)
		go func() { done <- f.try(http.MethodPost, intentsPath, paymentForm+"pm_card_visa", []string{keyed}) }()
		<-held.Arrived()
		if got := len(f.Movements("r1").Charged); (got == 1) != isAfter {
			t.Errorf("after %v: %d charges while the request is held", isAfter, got)
		}
		other := fixture{Stub: f.Stub, t: t}
		other.post(intentsPath, paymentForm+"pm_card_visa", keyed).expect(409, "error.type", "idempotency_error", "error.code", "idempotency_key_in_use")
		held.Release()
		first := <-done
		if again := f.post(intentsPath, paymentForm+"pm_card_visa", keyed); first.status != 200 || !bytes.Equal(first.body, again.body) {
			t.Errorf("first %d %v, again %d", first.status, first.err, again.status)
		}
		f.check()
	}
}

// Many requests with one key at once lead to one charge; each gets its answer or is told that the key is in use.
func TestConcurrentRequestsWithOneKey(t *testing.T) {
	f := start(t, Options{})
	var requests sync.WaitGroup
	for range 40 {
		requests.Go(func() {
			own := fixture{Stub: f.Stub, t: t}
			if r := own.try(http.MethodPost, intentsPath, paymentForm+"pm_card_visa", []string{keyed}); r.status != 200 && r.status != 409 {
				t.Errorf("answered %d %v %s", r.status, r.err, r.body)
			}
		})
	}
	requests.Wait()
	if got := f.Movements("r1").Charged; len(got) != 1 {
		t.Errorf("charged %v", got)
	}
}

// Whatever happens to an answer, the same key leads to one charge. wantCharges is what has happened by the first request.
func TestLostAndBrokenAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		fault       Fault
		status      int // 0: no complete answer
		wantCharges int
		final       int // of the repetition
	}{
		"request lost":    {Fault{Effect: Close}, 0, 0, 200},
		"answer lost":     {Fault{Effect: Close, After: true}, 0, 1, 200},
		"truncated":       {Fault{Effect: Truncated, After: true}, 0, 1, 200},
		"garbage":         {Fault{Effect: Garbage, After: true}, 200, 1, 200},
		"garbage before":  {Fault{Effect: Garbage}, 200, 0, 200},
		"500 before":      {Fault{Effect: Fail, Status: 500}, 500, 0, 200},
		"503 before":      {Fault{Effect: Fail, Status: 503}, 503, 0, 200},
		"500 after":       {Fault{Effect: Fail, Status: 500, After: true}, 500, 1, 500}, // Stripe repeats stored 500s, too
		"503 after":       {Fault{Effect: Fail, Status: 503, After: true}, 503, 1, 503},
		"lock timeout":    {Fault{Effect: Fail, Status: 429, Code: "lock_timeout"}, 429, 0, 200},
		"conflict":        {Fault{Effect: Fail, Status: 409, Code: "lock_timeout"}, 409, 0, 200},
		"held, then lost": {Fault{Effect: Close, After: true, Hold: true}, 0, 1, 200},
	} {
		f := start(t, Options{})
		f.get("/v1/balance", "") // a connection that is used again must not lead to a hidden repetition
		c.fault.Method, c.fault.Path = http.MethodPost, intentsPath
		planned := f.Plan(c.fault)
		planned.Release()
		r := f.try(http.MethodPost, intentsPath, paymentForm+"pm_card_visa", []string{keyed})
		if isComplete := r.err == nil; isComplete != (c.status != 0) || isComplete && r.status != c.status {
			t.Errorf("%s: answered %d %v", name, r.status, r.err)
		}
		if strings.Contains(name, "garbage") && r.json != nil || planned.Hits() != 1 {
			t.Errorf("%s: %s, %d hits", name, r.body, planned.Hits())
		}
		if got := len(f.Movements("r1").Charged); got != c.wantCharges {
			t.Errorf("%s: %d charges, want %d", name, got, c.wantCharges)
		}
		f.post(intentsPath, paymentForm+"pm_card_visa", keyed).expect(c.final)
		if got := len(f.Movements("r1").Charged); got != 1 {
			t.Errorf("%s: %d charges after the repetition", name, got)
		}
		posts := 0
		for _, q := range f.Requests() {
			if q.Method == http.MethodPost && q.Path == intentsPath && q.IdempotencyKey == "k1" {
				posts++
			}
		}
		if posts != 2 {
			t.Errorf("%s: %d requests have arrived, want 2", name, posts)
		}
	}
}

func TestPlanSelectsCalls(t *testing.T) {
	f := start(t, Options{})
	f.Plan(Fault{Method: http.MethodPost, Path: intentsPath + "/*/confirm", Nth: 2, Times: 2, Effect: Fail, Status: 500})
	id := f.post(intentsPath, "amount=1000&currency=usd&payment_method_types[]=card").expect(200).id()
	for i, want := range []int{400, 500, 500, 400} {
		if r := f.post(intentsPath+"/"+id+"/confirm", ""); r.status != want {
			t.Errorf("call %d answered %d, want %d", i+1, r.status, want)
		}
		f.get(intentsPath+"/"+id, "").expect(200)
	}
	f.Plan(Fault{Path: "/v1/balance", Times: -1, Effect: Fail, Status: 503})
	for range 5 {
		f.get("/v1/balance", "").expect(503)
	}
}

func TestRefusedConnections(t *testing.T) {
	f := start(t, Options{})
	id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
	f.Disconnect()
	if r := f.try(http.MethodGet, intentsPath+"/"+id, "", nil); !errors.Is(r.err, syscall.ECONNREFUSED) {
		t.Errorf("answered %d %v", r.status, r.err)
	}
	f.Reconnect()
	f.get(intentsPath+"/"+id, "").expect(200, "status", "succeeded")
}
