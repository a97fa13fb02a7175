package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// maxOperations bounds the history of one payment, so that the search for an order ends soon.
const maxOperations = 40

// currency and env are those of all payments.
const (
	currency = "USD"
	env      = "test"
)

// cards are the simulator's cards among which clients choose; repeated ones are chosen more often. The last one is charged some
// seconds later, so that a payment may outlive the leader that has sent it to the provider.
var cards = []string{
	"4242424242424242", "4242424242424242", "4242424242424242", "4242424242424242", "4242424242424242", "5555555555554444",
	"4000000000000002", "4000000000000119", "4000000000000077",
}

// partner is a merchant of an organization, with a key and terminals.
type partner struct {
	id  int64
	key string
}

// tenant is an organization. At first there is one in each shard. The payments are those of one partner; other partners have the accounts.
type tenant struct {
	*partner
	first    int // the shard in which it was created
	org      string
	answers  *answersFile
	accounts []*account

	place atomic.Int32 // the shard in which it was seen last

	mu       sync.Mutex
	payments []*payment // guarded by mu
}

func (tn *tenant) shard() int { return int(tn.place.Load()) }

// payment is a txid, with all requests about it.
type payment struct {
	tenant *tenant
	txid   string
	card   string
	amount int
	refund int // the amount of the refund, which every refund request for the payment names

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu, like all fields below
	last       view                  // as the last answer showed it
	acked      bool                  // a create was answered with 201
	unknown    int                   // number of creates of unknown outcome
	running    int                   // number of requests under way
}

// book has the tenants, and what was wrong.
type book struct {
	began   time.Time
	prefix  string // beginning of each txid
	tenants []*tenant

	mu     sync.Mutex
	made   int            // number of payments
	counts map[string]int // answers by kind of request and outcome
	wrong  []error        // answers that no node may give
}

func newBook(seed uint64) *book {
	return &book{began: time.Now(), prefix: fmt.Sprintf("c%x", seed&0xffffff), counts: make(map[string]int)}
}

// now returns the time since the book was opened, in nanoseconds.
func (b *book) now() int64 { return time.Since(b.began).Nanoseconds() }

// complain records a wrong answer.
func (b *book) complain(format string, values ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Errorf(format, values...))
}

// hasComplaint tells whether a wrong answer was recorded.
func (b *book) hasComplaint() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.wrong) > 0
}

// count counts an answer.
func (b *book) count(kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[kind]++
}

// add makes a new payment. The values drawn from random are the same whatever the other clients do.
func (b *book) add(tn *tenant, random *rand.Rand) *payment {
	b.mu.Lock()
	b.made++
	p := &payment{tenant: tn, txid: fmt.Sprintf("%s-%d-%d", b.prefix, tn.first, b.made)}
	b.mu.Unlock()
	p.card, p.amount = cards[random.IntN(len(cards))], 10+random.IntN(1000)
	p.refund = 1 + random.IntN(p.amount)
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.payments = append(tn.payments, p)
	return p
}

// recent returns a random payment of a tenant, most likely a recent one, or nil.
func (tn *tenant) recent(random *rand.Rand) *payment {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	if len(tn.payments) == 0 {
		return nil
	}
	return tn.payments[len(tn.payments)-min(1+int(random.ExpFloat64()*50), len(tn.payments))]
}

// all returns a tenant's payments.
func (tn *tenant) all() []*payment {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return slices.Clone(tn.payments)
}

// begin counts a request that is about to be sent. It returns false if the payment's history is full.
func (p *payment) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.operations)+p.running >= maxOperations {
		return false
	}
	p.running++
	return true
}

// shown returns the payment as the last answer has shown it.
func (p *payment) shown() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// end records a request. output is nil if the outcome is unknown. If isNothing is true, the request had no effect that a later
// answer could show, and is left out.
func (p *payment) end(input, output any, isNothing bool, call, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	_, isCreate := input.(createInput)
	switch {
	case isNothing:
		return
	case output == nil:
		if !isCreate {
			return // a read has no effect, and the model allows the effects of a refund at any time
		}
		p.unknown++
		end = forever
	default:
		v := output.(view)
		p.acked = p.acked || isCreate
		if p.last.ID == "" || statusOrder[v.Status] > statusOrder[p.last.Status] {
			p.last = v
		}
	}
	p.operations = append(p.operations, porcupine.Operation{ClientId: len(p.operations), Input: input, Output: output, Call: call, Return: end})
}

// answerLine is a line of the file that `mizan audit verify --answers` reads.
type answerLine struct {
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Organization string          `json:"organization_id"`
	Partner      int64           `json:"partner_id,omitempty"`
	Key          string          `json:"idempotency_key,omitempty"`
	Body         json.RawMessage `json:"body"`
	Status       int             `json:"status"` // 0: no answer came
	Response     json.RawMessage `json:"response"`
}

// answersFile writes the file for `mizan audit verify --answers`.
type answersFile struct {
	path string

	mu     sync.Mutex
	file   *os.File
	buffer *bufio.Writer
	err    error // of the first failure
}

func createAnswers(path string) (*answersFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &answersFile{path: path, file: f, buffer: bufio.NewWriter(f)}, nil
}

func (f *answersFile) add(line answerLine) {
	text, err := json.Marshal(line)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		_, err = f.buffer.Write(append(text, '\n'))
	}
	if f.err == nil {
		f.err = err
	}
}

// close writes what is left, and returns the first failure.
func (f *answersFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, err := range []error{f.buffer.Flush(), f.file.Close()} {
		if f.err == nil {
			f.err = err
		}
	}
	return f.err
}
