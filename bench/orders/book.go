package orders

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"sync"
)

// Book records every order of a campaign's clients, and every response in the form that `mizan audit verify --answers`
// reads.
type Book struct {
	Organization string // id of the organization; set before the first request
	Path         string // path of the file with the responses
	ExpectsFault bool   // a fault is injected, so the server may refuse any request

	prefix string // beginning of each txid

	mu         sync.Mutex
	hadFault   bool // ExpectsFault was true when at least one response was recorded
	orders     []*Order
	byTxID     map[string]*Order
	file       *os.File
	answers    *bufio.Writer
	answered   int               // number of requests with a response
	unanswered int               // number of requests without a response
	refused    int               // number of requests that the server refused; they are also counted in answered
	milestones map[int]milestone // key: the value of answered at which the channel is closed
	errs       []error           // wrong responses and failed writes
	statuses   map[Outcome]int   // number of transactions by final status
}

// milestone is a channel that is closed when a certain number of responses has arrived.
type milestone chan struct{}

// Open opens a book. It appends the responses to the file, which may already contain responses of other books. The prefix makes
// the txids of this book different from those of other books for the same store.
func Open(path, prefix string) (*Book, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Book{
		Path: path, prefix: prefix, file: f, answers: bufio.NewWriterSize(f, 1<<20),
		byTxID: make(map[string]*Order), milestones: make(map[int]milestone), statuses: make(map[Outcome]int),
	}, nil
}

// Close closes the file. Responses that were recorded after the last call of TakeErrors may be lost.
func (b *Book) Close() error { return b.file.Close() }

// Counts are the numbers of orders and of requests. Answered requests got a response; unanswered requests got none. Refused
// requests are answered requests that the server refused because it was busy or because of a fault.
type Counts struct {
	Orders, Answered, Unanswered, Refused int             // requests, except Orders
	Statuses                              map[Outcome]int // number of transactions by final status
}

// Counts returns the numbers of orders and requests so far.
func (b *Book) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Counts{len(b.orders), b.answered, b.unanswered, b.refused, maps.Clone(b.statuses)}
}

// Find returns the order with a txid, or nil if there is none.
func (b *Book) Find(txid string) *Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byTxID[txid]
}

// answerLine is one line of the file with the responses, which `mizan audit verify` reads with --answers.
type answerLine struct {
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Organization string          `json:"organization_id"`
	Body         json.RawMessage `json:"body"`
	Status       int             `json:"status"` // 0: no response came
	Response     json.RawMessage `json:"response"`
}

// record writes a line for a request and its response, if any. It also checks the response. previous is the state that the order
// had when the request was sent.
func (b *Book) record(o *Order, previous State, line answerLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line.Organization = b.Organization
	b.hadFault = b.hadFault || b.ExpectsFault
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
func (b *Book) apply(o *Order, previous State, line *answerLine) error {
	switch {
	case line.Status == 503 && (line.Method == "POST" || b.ExpectsFault):
		b.refused++
		return nil // the server was too busy, or the fault stopped the request: nothing was stored
	case line.Status == 400 && b.ExpectsFault && bytes.Contains(line.Response, []byte("could not be read")):
		b.refused++
		return nil // because of the fault the server could not read the request
	case line.Status != 201 && line.Method == "POST", line.Status != 200 && line.Method == "GET":
		return fmt.Errorf("txid %s: %s %s answered %d: %s", o.TxID, line.Method, line.Path, line.Status, line.Response)
	}
	var got State
	if err := json.Unmarshal(line.Response, &got); err != nil {
		return fmt.Errorf("txid %s: %w: %s", o.TxID, err, line.Response)
	}
	if err := o.check(&previous, &got, b.hadFault); err != nil {
		return err
	}
	if o.Last.ID != "" && o.Last.ID != got.ID {
		return fmt.Errorf("txid %s: two transactions, %s and %s", o.TxID, o.Last.ID, got.ID)
	}
	if !o.Last.Final() {
		o.Last = got
		if got.Final() {
			b.statuses[Outcome{got.Status, got.Error}]++
		}
	}
	return nil
}

// Add creates a new order and adds it to the book.
func (b *Book) Add(random *rand.Rand, noDelays bool) *Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := newOrder(fmt.Sprintf("%s-%08d", b.prefix, len(b.orders)), random, noDelays)
	b.orders = append(b.orders, o)
	b.byTxID[o.TxID] = o
	return o
}

// randomOrder returns a random order of the book, or nil if the book is empty.
func (b *Book) randomOrder(random *rand.Rand) *Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == 0 {
		return nil
	}
	// Recent orders are chosen more often. So the orders that were in progress when the server was last killed are requested
	// again.
	fromEnd := min(1+int(random.ExpFloat64()*100), len(b.orders))
	return b.orders[len(b.orders)-fromEnd]
}

// LastState returns the order's state in the last response.
func (b *Book) LastState(o *Order) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return o.Last
}

// Matching lists the orders whose last state matches.
func (b *Book) Matching(matches func(*State) bool) (list []*Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if matches(&o.Last) {
			list = append(list, o)
		}
	}
	return list
}

// AfterResponses returns a channel that is closed after n more responses.
func (b *Book) AfterResponses(n int) <-chan struct{} {
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

// TakeErrors writes the buffered responses to the file and returns the errors since its last call.
func (b *Book) TakeErrors() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := b.errs
	b.errs = nil
	if err := b.answers.Flush(); err != nil {
		errs = append(errs, err)
	}
	return errs
}
