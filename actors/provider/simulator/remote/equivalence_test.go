package remote

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// provider is what the service uses of a simulator.
type provider interface {
	actors.Provider
	Reissue(context.Context, *actors.Inquiry) actors.Outcome
	Challenge(terminal, reference ledger.ID, token string) (simulator.Challenge, error)
	Decide(terminal, reference ledger.ID, token string, approve bool) (string, ledger.ID, error)
}

var (
	// Cards and methods from which a story chooses, some of them more often than others.
	cards = []string{
		goodCard, chargeBack, chargeBack, chargeBack, "4000000000000002", "4000000000000119", "4000000000003220", "4000000000003220",
		"4000000000003220", "4000000000003220", "4000000000003063", "4000002500003155", "4000000000000077", "4000000000000077",
		"4000000000000341", "4000000000005126", "4000000000007726",
	}
	methods = []string{
		"bank_card", "bank_card", "bank_card", "bank_card", "bank_card", "bank_card", "bank_card", "bank_card", "sbp", "qr_code", "crypto",
		"native_gas", "open_banking", "sepa", "cash", "nonsense",
	}
)

// story makes random requests. Two stories with the same random numbers make the same requests.
type story struct {
	random   *rand.Rand
	provider provider
	steps    uint64
	tokens   map[uint64]string // the challenges' tokens, by the charge's number
	next     *actors.Inquiry   // the next request, if it is not a random one
}

// step makes one request and returns its result. The request is random, except that an inquiry follows a decision.
func (s *story) step() any {
	if q := s.next; q != nil {
		s.next = nil
		return s.provider.Inquire(context.Background(), q)
	}
	s.steps++
	n := s.steps/20 + s.random.Uint64N(12) // old charges are left alone after a time, so that there are always new ones
	request := id(s.random.Uint64N(3))
	amount := money.FromUint64(s.random.Uint64N(1200))
	switch kind := s.random.IntN(12); kind {
	case 0, 1, 2:
		call := cardCall(n, cards[s.random.IntN(len(cards))])
		call.Operation, call.Hold = actors.Operation(1+s.random.IntN(2)), s.random.IntN(3) == 0
		call.Method, call.Terminal = methods[s.random.IntN(len(methods))], terminal([]string{"", "", "", "", "", "", "rejected", "timeout"}[s.random.IntN(8)])
		if s.random.IntN(8) == 0 {
			call.Card = nil
		}
		if s.random.IntN(8) == 0 {
			call.ReturnURL = nil
		}
		if s.random.IntN(8) == 0 {
			call.Method, call.Card, call.Token = "stored", nil, secret.Text("sim_slow_3e0a2c5861f84b538a0a0f2f3a9c1d01")
		}
		return s.submit(n, call)
	case 3, 4, 5:
		call := &actors.Call{
			Org: id(99), Reference: id(n), Operation: actors.Operation(3 + s.random.IntN(4)), Request: request, Terminal: terminal(""), Amount: amount,
			Asset: money.Asset{Currency: "USD", Env: money.Test}, Method: "bank_card", Material: []byte(`{"otp":"123456"}`), Choice: "sim-bank-2",
		}
		if s.random.IntN(2) == 0 {
			call.Card = &secret.Card{Number: []byte(goodCard)}
		}
		return s.submit(n, call)
	case 6, 7:
		q := &actors.Inquiry{Terminal: terminal(""), Reference: id(n), Operation: actors.Operation(1 + s.random.IntN(6)), Request: request}
		q.ActionKnown = s.random.IntN(2) == 0
		if kind == 6 {
			return s.provider.Inquire(context.Background(), q)
		}
		return s.provider.Reissue(context.Background(), q)
	case 8:
		token := s.token(n)
		challenge, err := s.provider.Challenge(id(7), id(n), token)
		return []any{challenge, errors.Is(err, simulator.ErrNoChallenge)}
	}
	s.next = inquiry(n)
	returnURL, org, err := s.provider.Decide(id(7), id(n), s.token(n), s.random.IntN(3) > 0)
	return []any{returnURL, org, errors.Is(err, simulator.ErrNoChallenge)}
}

// submit makes a call and remembers the challenge's token in its outcome.
func (s *story) submit(n uint64, call *actors.Call) actors.Outcome {
	o := submit(s.provider, call)
	if o.Action != nil {
		if address, err := url.Parse(o.Action.Page); err == nil && o.Action.Page != "" {
			s.tokens[n] = address.Query().Get(simulator.TokenParam)
		} else if address, err := url.Parse(o.Action.URL); err == nil {
			s.tokens[n] = address.Query().Get(simulator.TokenParam)
		}
	}
	return o
}

func (s *story) token(n uint64) string {
	if token := s.tokens[n]; token != "" {
		return token
	}
	return "guessed"
}

// A simulator in another process gives the same answers as one in this process, and writes the same log.
func TestARemoteSimulatorAnswersAsALocalOne(t *testing.T) {
	served := serve(t)
	localDir := tempDirInMemory(t)
	local := openSimulator(t, localDir, served.clock)
	defer func() { _ = local.Close() }()
	far := served.provider()
	seed := testseed.Seed(t)
	stories := [2]*story{}
	for i, p := range []provider{local, far} {
		stories[i] = &story{random: rand.New(rand.NewPCG(seed, 1)), provider: p, tokens: make(map[uint64]string)}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	seen := make(map[string]int)
	polled := time.Time{}
	for i := range 6000 {
		want, got := stories[0].step(), stories[1].step()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("request %d: the remote simulator answered %+v, the local one %+v", i, got, want)
		}
		if o, ok := want.(actors.Outcome); ok {
			seen[o.Verdict.String()]++
		}
		if random.IntN(10) == 0 {
			served.advance(time.Duration(random.IntN(20_000)) * time.Millisecond)
		}
		if i%500 == 0 { // so that every run has reports
			for _, p := range []provider{local, far} {
				wantVerdict(t, "a charge that is charged back", submit(p, cardCall(uint64(1_000_000+i), chargeBack)), payment.VerdictCharged)
			}
		}
		if random.IntN(20) == 0 {
			now := served.clock.Now()
			wantReports, err := local.Reports(t.Context(), polled, now)
			gotReports, farErr := far.Reports(t.Context(), polled, now)
			if err != nil || farErr != nil || len(gotReports) != len(wantReports) || len(wantReports) > 0 && !reflect.DeepEqual(gotReports, wantReports) {
				t.Fatalf("reports from %v to %v: %v, %v, want %v, %v", polled, now, gotReports, farErr, wantReports, err)
			}
			seen["reports"] += len(wantReports)
			polled = now
		}
	}
	for _, kind := range []string{"charged", "pending", "refused", "failed", "unknown", "unknown_reference", "held", "action", "ready", "reports"} {
		if seen[kind] == 0 {
			t.Errorf("no answer was %q", kind)
		}
	}
	var logs [2][]byte
	for i, dir := range []string{localDir, served.dir} {
		content, err := os.ReadFile(filepath.Join(dir, "simulator.log"))
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = bytes.TrimRight(content, "\x00")
	}
	if !bytes.Equal(logs[0], logs[1]) {
		t.Error("the two simulators have written different logs")
	}
}

func TestTheAdapterHasTheSimulatorsNameAndMethods(t *testing.T) {
	served := serve(t)
	far := served.provider()
	if far.Name() != served.Name() {
		t.Errorf("the name is %q, want %q", far.Name(), served.Name())
	}
	for operation := range actors.Operation(9) {
		for _, method := range methods {
			if got, want := far.Accepts(operation, method), served.Accepts(operation, method); got != want {
				t.Errorf("%v by %s: %v, want %v", operation, method, got, want)
			}
		}
	}
	if _, isLocal := any(far).(actors.LocalProvider); isLocal {
		t.Error("its calls would run on the goroutines of requests")
	}
}
