package stripestub

import (
	"net/http"
	"path"
	"strconv"
	"sync"
)

// Effect says what happens to the answer of a call for which a fault is planned.
type Effect int

const (
	None      Effect = iota // the answer arrives; useful with Hold
	Close                   // the connection is closed in the middle of the status line
	Fail                    // the answer is an error object with Fault.Status and Fault.Code
	Garbage                 // status 200 with an HTML page
	Truncated               // the connection is closed in the middle of the body
)

// Fault is a fault at certain calls. The zero values of Method and Path match all calls. That connections are refused cannot be
// planned for a call, because a server does not see the call; use Disconnect.
type Fault struct {
	Method string // for example POST
	Path   string // pattern of package path, for example /v1/payment_intents/*/confirm
	Nth    int    // the first matching call that fails, counted from the plan; 0 and 1: the next
	Times  int    // number of consecutive matching calls that fail; 0: 1; negative: all
	// After says that the call is executed first, so that its effects remain and its idempotency key is used up. Otherwise
	// nothing is executed and the key stays free, unless Effect is None.
	After bool
	// Hold keeps the call open until Release. Its idempotency key is in use meanwhile.
	Hold   bool
	Effect Effect
	// Status and Code are those of Fail. Pairs that Stripe sends are 429 rate_limit, 429 lock_timeout, and 409, 500 and 503
	// without a code.
	Status int
	Code   string
	Header http.Header // added to the answer of Fail, for example Retry-After and Stripe-Should-Retry
}

// Planned is a fault that is planned.
type Planned struct {
	Fault
	mu      sync.Mutex
	matched int
	hits    int
	arrived chan struct{}
	release chan struct{}
	once    sync.Once
}

// Plan plans a fault. If several match a call, the one that was planned first applies, and the others don't count the call.
func (s *Stub) Plan(f Fault) *Planned {
	s.tb.Helper()
	if _, err := path.Match(f.Path, ""); err != nil {
		s.tb.Fatal(err)
	}
	if f.Effect == Fail && f.Status == 0 {
		s.tb.Fatal("stripestub: a fault with Effect Fail needs a Status")
	}
	set(&f.Nth, 1)
	set(&f.Times, 1)
	planned := &Planned{Fault: f, arrived: make(chan struct{}, 1000), release: make(chan struct{})}
	s.lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, planned)
	return planned
}

// Arrived returns a channel that receives a value for each call that is held.
func (p *Planned) Arrived() <-chan struct{} { return p.arrived }

// Release lets all calls that are held, now or later, continue.
func (p *Planned) Release() { p.once.Do(func() { close(p.release) }) }

// Hits returns how many calls the fault has affected.
func (p *Planned) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// planFor returns the fault that applies to a call, or nil.
func (s *Stub) planFor(c *call) *Planned {
	for _, p := range s.faults {
		if p.matches(c) {
			return p
		}
	}
	return nil
}

func (p *Planned) matches(c *call) bool {
	if p.Method != "" && p.Method != c.Method {
		return false
	}
	if ok, _ := path.Match(p.Path, c.Path); p.Path != "" && !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.matched++
	if p.matched < p.Nth || p.Times > 0 && p.hits >= p.Times {
		return false
	}
	p.hits++
	return true
}

// wait waits for Release if the fault holds its calls.
func (p *Planned) wait() {
	if p.Hold {
		p.arrived <- struct{}{}
		<-p.release
	}
}

// failureTexts are Stripe's messages of errors that a plan can cause, by code or status.
var failureTexts = map[string]string{
	"rate_limit":   "Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits.",
	"lock_timeout": "This object cannot be accessed right now because another API request or Stripe process is currently accessing it. If you see this error intermittently, retry the request. If you see this error frequently and are making multiple concurrent requests to a single object, make your requests serially or at a lower rate.",
	"500":          "An unknown error occurred",
	"503":          "Stripe is temporarily unavailable. Please try again later.",
}

func (p *Planned) failureAnswer(c *call) *answer {
	f := &failure{status: p.Status, kind: apiError, code: p.Code, message: failureTexts[strconv.Itoa(p.Status)]}
	if p.Status < http.StatusInternalServerError {
		f.kind = invalidRequest
	}
	if message := failureTexts[p.Code]; message != "" {
		f.message = message
	}
	set(&f.message, "The request could not be completed.")
	return &answer{status: p.Status, body: encode(object{"error": f.json()}), requestID: c.ID}
}

// apply answers a call as the fault says. result is nil if the call was not executed.
func (p *Planned) apply(w http.ResponseWriter, c *call, result *answer) {
	switch p.Effect {
	case Fail:
		if result == nil {
			result = p.failureAnswer(c)
		}
		for name, values := range p.Header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		write(w, c, result, false)
	case Garbage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>proxy error {\"id\": </body></html>"))
	case Truncated:
		body := []byte("{}")
		if result != nil {
			body = result.body
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Close:
		// Some bytes are sent, because Go's client repeats a request with an idempotency key by itself if a connection that
		// it has used before is closed before the first byte.
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = connection.Write([]byte("HTTP/1.1 2"))
			_ = connection.Close()
		}
	}
}
