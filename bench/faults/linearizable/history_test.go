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
	maxRequests = 40 // maximum number of requests in a history; amountsState has 64 bits, one for each
	maxKills    = 2  // number of kills after which a history ends, because each kill leaves requests of unknown outcome

	// searchTime bounds the search for an order that explains a history. A search usually takes milliseconds.
	searchTime = time.Minute

	forever = math.MaxInt64 // the end of an operation of unknown outcome
)

// step is one effect of a request. It happens at one instant, with an input and an output for the model. A request can have
// several steps: a payout, for example, holds the amount at one instant and settles it at another.
type step struct {
	input, output any
	isUnknown     bool // the step may take effect at any time after the request was sent, or never
}

// history has the operations of concurrent clients on one account, limit, txid, key or contract.
type history struct {
	kind  string // name of the model in the table
	name  string // names the account, limit, txid, key or contract
	model porcupine.Model
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu, as all fields below
	requests   int                   // number of requests that have begun
	running    int                   // number of requests that have begun and not ended
	kills      int                   // number of kills since the history began
	unknown    int                   // number of requests of unknown outcome
	isClosed   bool                  // no further request may begin
}

// endInput is the input of an additional operation, which comes after all operations whose end is known. It decides that each
// operation of unknown outcome that has not taken effect so far never will. Without it, the search would try at each instant
// that such an operation has no effect.
type endInput struct{}

// modelState is a model's state, and whether the history has ended.
type modelState struct {
	state  any
	isOver bool
}

// newModel returns a model for porcupine. Its state begins with initial, and step applies one operation. The argument isOver of
// step is true after the operation with endInput; only then may an operation of unknown outcome have no effect.
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

// withEndInput returns the operations and one more with endInput, after all those whose end is known.
func withEndInput(operations []porcupine.Operation) []porcupine.Operation {
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
	if h.isClosed = h.isClosed || h.requests == maxRequests || h.kills >= maxKills; h.isClosed {
		return 0, false
	}
	n = h.requests
	h.requests++
	h.running++
	return n, true
}

// now returns the time since the history began, in nanoseconds.
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

// countKill counts a kill of the server.
func (h *history) countKill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kills++
}

// check searches for an order that explains the history. If there is none, it draws the history, and returns the name of the
// drawing's file.
func (h *history) check() (result porcupine.CheckResult, drawing string, err error) {
	result, details := porcupine.CheckOperationsVerbose(h.model, withEndInput(h.operations), searchTime)
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
