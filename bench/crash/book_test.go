package crash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
)

// book records what the clients of a campaign know: every order, and every response in the form that
// `mizan audit verify --answers` reads.
type book struct {
	organization string
	path         string // path of the file with the responses

	mu         sync.Mutex
	orders     []*order
	byTxid     map[string]*order
	file       *os.File
	answers    *bufio.Writer
	answered   int               // number of requests with a response
	unanswered int               // number of requests without a response
	milestones map[int]milestone // by the number of responses at which each is closed
	errs       []error           // wrong responses and failed writes
	statuses   map[outcome]int   // final statuses of transactions, for the log
}

// milestone is a channel that is closed when a certain number of responses has arrived.
type milestone chan struct{}

func openBook(path string) (*book, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &book{
		path: path, file: f, answers: bufio.NewWriterSize(f, 1<<20),
		byTxid: make(map[string]*order), milestones: make(map[int]milestone), statuses: make(map[outcome]int),
	}, nil
}

// answerLine is a line of the file with the responses, which `mizan audit verify` calls answers.
type answerLine struct {
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Organization string          `json:"organization_id"`
	Body         json.RawMessage `json:"body"`
	Status       int             `json:"status"` // 0: no response came
	Response     json.RawMessage `json:"response"`
}

// record records a response, or that no response came. It compares the response with the order's previous state,
// which was known when the request was sent.
func (b *book) record(o *order, previous txState, line answerLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line.Organization = b.organization
	text, err := json.Marshal(line)
	if err == nil {
		_, err = b.answers.Write(append(text, '\n'))
	}
	if err == nil && line.Status == 0 {
		b.unanswered++
		return
	}
	if err == nil {
		b.answered++
		if channel, exists := b.milestones[b.answered]; exists {
			close(channel)
			delete(b.milestones, b.answered)
		}
		err = b.apply(o, previous, &line)
	}
	if err != nil {
		b.errs = append(b.errs, err)
	}
}

// apply checks a response and updates the order with it.
func (b *book) apply(o *order, previous txState, line *answerLine) error {
	switch {
	case line.Status == 503 && line.Method == "POST":
		return nil // the server was too busy: nothing was stored
	case line.Status != 201 && line.Method == "POST", line.Status != 200 && line.Method == "GET":
		return fmt.Errorf("txid %s: %s %s answered %d: %s", o.txid, line.Method, line.Path, line.Status, line.Response)
	}
	var got txState
	if err := json.Unmarshal(line.Response, &got); err != nil {
		return fmt.Errorf("txid %s: %w: %s", o.txid, err, line.Response)
	}
	if err := o.check(&previous, &got); err != nil {
		return err
	}
	if o.last.ID != "" && o.last.ID != got.ID {
		return fmt.Errorf("txid %s: two transactions, %s and %s", o.txid, o.last.ID, got.ID)
	}
	if !o.last.final() {
		o.last = got
		if got.final() {
			b.statuses[outcome{got.Status, got.Error}]++
		}
	}
	return nil
}

// add creates a new order and adds it to the book.
func (b *book) add(random *rand.Rand, noDelays bool) *order {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := newOrder(fmt.Sprintf("crash-%08d", len(b.orders)), random, noDelays)
	b.orders = append(b.orders, o)
	b.byTxid[o.txid] = o
	return o
}

// randomOrder chooses an existing order at random; nil if there is none.
func (b *book) randomOrder(random *rand.Rand) *order {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == 0 {
		return nil
	}
	// Mostly a recent order, so that orders in progress at the last kill are requested again.
	fromEnd := min(1+int(random.ExpFloat64()*100), len(b.orders))
	return b.orders[len(b.orders)-fromEnd]
}

// lastState returns the state that the last response about the order showed.
func (b *book) lastState(o *order) txState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return o.last
}

// ordersMatching lists the orders whose last state matches.
func (b *book) ordersMatching(matches func(*txState) bool) (list []*order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if matches(&o.last) {
			list = append(list, o)
		}
	}
	return list
}

// closedAfterResponses returns a channel that is closed after n more responses.
func (b *book) closedAfterResponses(n int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := b.answered + n
	channel, exists := b.milestones[count]
	if !exists {
		channel = make(milestone)
		b.milestones[count] = channel
	}
	return channel
}

// takeErrors writes the buffered responses to the file and returns the errors since its last call.
func (b *book) takeErrors() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := b.errs
	b.errs = nil
	if err := b.answers.Flush(); err != nil {
		errs = append(errs, err)
	}
	return errs
}
