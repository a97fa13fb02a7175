package linearizable

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	maxOperations = 40 // of a history; each taking has a bit of amountsState
	maxHistory    = 2  // kills after which a history ends, because each leaves operations of unknown outcome

	// searchTime bounds the search for an order that explains a history. It takes milliseconds as a rule.
	searchTime = time.Minute

	forever = math.MaxInt64 // the end of an operation of unknown outcome
)

// step is something that a request does at one instant: its parameters and its result, for the model. For example, a payout
// takes a hold at one instant and settles it at another.
type step struct {
	input, output any
	isUnknown     bool // it may take effect at any time after the request was sent, or never
}

// history has the operations of concurrent clients on one account, limit, txid, key or contract.
type history struct {
	kind  string // name of the model in the table
	name  string // what the history is of
	model porcupine.Model
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu, as all fields below
	requests   int                   // begun so far
	running    int                   // begun and not ended
	kills      int                   // since the history began
	unknown    int                   // requests of unknown outcome
	isClosed   bool                  // no request begins any more
}

// endInput is the input of an operation after all whose end is known. What has not taken effect before it never does. Without this
// operation the search would try each operation of unknown outcome without effect at every instant.
type endInput struct{}

// modelState is a model's state, and whether the history has ended.
type modelState struct {
	state  any
	isOver bool
}

// newModel returns a model. A step without effect, of an operation of unknown outcome, is allowed when the history is over.
func newModel(initial any, step func(state, input, output any, isOver bool) (allowed bool, next any)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return modelState{state: initial} },
		Step: func(state, input, output any) (bool, any) {
			s := state.(modelState)
			if _, isEnd := input.(endInput); isEnd {
				return true, modelState{s.state, true}
			}
			allowed, next := step(s.state, input, output, s.isOver)
			return allowed, modelState{next, s.isOver}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%T%+v → %+v", input, input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// ended returns the operations, with an endInput after those whose end is known.
func ended(operations []porcupine.Operation) []porcupine.Operation {
	last := int64(0)
	for i := range operations {
		if last = max(last, operations[i].Call); operations[i].Return != forever {
			last = max(last, operations[i].Return)
		}
	}
	return append(slices.Clip(operations), porcupine.Operation{Input: endInput{}, Call: last + 1, Return: last + 2})
}

func newHistory(kind, name string, model porcupine.Model) *history {
	return &history{kind: kind, name: name, model: model, began: time.Now()}
}

// begin returns the number of a new request. If the history is full, it returns false, and closes the history.
func (h *history) begin() (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosed = h.isClosed || h.requests == maxOperations || h.kills >= maxHistory; h.isClosed {
		return 0, false
	}
	n = h.requests
	h.requests++
	h.running++
	return n, true
}

// now returns the time for end.
func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

// end records the steps of a request that was sent at the time call. A request that did nothing has none.
func (h *history) end(client int, call int64, steps []step) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	hasUnknown := false
	for i, s := range steps {
		o := porcupine.Operation{ClientId: 4*client + i, Input: s.input, Output: s.output, Call: call, Return: end}
		if s.isUnknown {
			o.Return, hasUnknown = forever, true
		}
		h.operations = append(h.operations, o)
	}
	if hasUnknown {
		h.unknown++
	}
}

// isOver tells whether no request runs and none will begin.
func (h *history) isOver() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isClosed && h.running == 0
}

// close ends the history.
func (h *history) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isClosed = true
}

// countKill tells the history that the server was killed.
func (h *history) countKill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kills++
}

// check searches for an order that explains the history. If there is none, it draws the history, and returns the name of the
// drawing's file.
func (h *history) check() (result porcupine.CheckResult, drawing string, err error) {
	result, details := porcupine.CheckOperationsVerbose(h.model, ended(h.operations), searchTime)
	if result == porcupine.Ok {
		return result, "", nil
	}
	file, err := os.CreateTemp("", "history-*.html")
	if err != nil {
		return result, "", err
	}
	defer func() { _ = file.Close() }()
	if err := porcupine.Visualize(h.model, details, file); err != nil {
		return result, "", fmt.Errorf("%s: %w", file.Name(), err)
	}
	return result, file.Name(), nil
}
