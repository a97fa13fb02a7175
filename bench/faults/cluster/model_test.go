package cluster

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// This file has the model of the requests about one payment: creates with its txid, refunds and reads. It follows txidModel of
// package linearizable, and knows refunds in addition.

const (
	forever    = math.MaxInt64    // the end of a request of unknown outcome
	searchTime = 30 * time.Second // bounds the search for an order that explains a history; it usually takes milliseconds
)

// paymentState is the state of the model.
type paymentState struct {
	exists, isOver     bool
	id, amount, status string // id and status are empty as long as no answer has shown them
}

// The inputs. The output of a create and of a show is a view; a create of unknown outcome has none. The last operation of each
// history has an endInput: a create that has had no effect until then never will.
type (
	createInput struct{ amount string }
	showInput   struct{ id string } // a read, or a refund: its answer shows the payment
	endInput    struct{}
)

// view is a payment as an answer shows it.
type view struct {
	ID, Status, Amount string
	httpStatus         int
	isReplay           bool // set for creates only, like hasOtherAmount
	hasOtherAmount     bool // the answer says that the request's amount differs from the stored one
}

var paymentModel = porcupine.Model{
	Init: func() any { return paymentState{} },
	Step: func(state, input, output any) (bool, any) {
		s := state.(paymentState)
		allowed := s.step(input, output)
		return allowed, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%T%+v → %+v", input, input, output) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

func (s *paymentState) step(input, output any) bool {
	switch in := input.(type) {
	case endInput:
		s.isOver = true
		return true
	case showInput:
		out := output.(view)
		return s.exists && out.httpStatus == 200 && out.ID == in.id && s.show(&out)
	case createInput:
		wasThere := s.exists
		if output == nil {
			if !wasThere {
				*s = paymentState{exists: true, amount: in.amount, isOver: s.isOver}
			}
			return !wasThere || s.isOver // otherwise the create was a repetition, or was not carried out
		}
		out := output.(view)
		if !wasThere {
			*s = paymentState{exists: true, amount: in.amount, isOver: s.isOver}
			return out.httpStatus == 201 && !out.isReplay && s.show(&out)
		}
		return out.httpStatus == 201 && out.isReplay && out.hasOtherAmount == (in.amount != s.amount) && s.show(&out)
	}
	return false
}

// show updates the state with an answer, and tells whether the answer may follow the earlier ones.
func (s *paymentState) show(out *view) bool {
	follows := out.ID != "" && (s.id == "" || s.id == out.ID) && out.Amount == s.amount && mayFollow(s.status, out.Status)
	s.id, s.status = out.ID, out.Status
	return follows
}

// statusOrder orders the statuses of a payment.
var statusOrder = map[string]int{
	"": 0, "created": 1, "new": 2, "authorizing": 3, "charging": 4, "charged": 5, "rejected": 8, "failed": 8, "refunding": 6, "refunded": 7,
}

// mayFollow tells whether a payment with the first status may have the second one at the same time or later. A refund under way
// may fail. A payment that is rejected or failed stays so.
func mayFollow(from, to string) bool {
	_, isKnown := statusOrder[to]
	switch {
	case !isKnown || to == "":
		return false
	case from == to || from == "refunding" && to == "charged":
		return true
	case statusOrder[to] == 8:
		return statusOrder[from] < statusOrder["charged"]
	}
	return statusOrder[from] < statusOrder[to]
}

// withEnd returns the operations and one more with endInput, after all whose end is known.
func withEnd(operations []porcupine.Operation) []porcupine.Operation {
	last := int64(0)
	for i := range operations {
		if last = max(last, operations[i].Call); operations[i].Return != forever {
			last = max(last, operations[i].Return)
		}
	}
	return append(slices.Clip(operations), porcupine.Operation{Input: endInput{}, Call: last + 1, Return: last + 2})
}

func TestModelRefusesWhatIsNotAllowed(t *testing.T) {
	shown := func(id, status string) view { return view{ID: id, Status: status, Amount: "5", httpStatus: 200} }
	made := func(id string, isReplay bool) view {
		return view{ID: id, Status: "charged", Amount: "5", httpStatus: 201, isReplay: isReplay}
	}
	at := func(call, end int64, input, output any) porcupine.Operation {
		return porcupine.Operation{Input: input, Output: output, Call: call, Return: end}
	}
	create, read := createInput{"5"}, showInput{"a"}
	for _, c := range []struct {
		name       string
		operations []porcupine.Operation
		isAllowed  bool
	}{
		{"a repeated create", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, create, made("a", true)), at(5, 6, read, shown("a", "charged"))}, true},
		{"a create of unknown outcome that happened", []porcupine.Operation{at(1, forever, create, nil), at(3, 4, create, made("a", true))}, true},
		{"a create of unknown outcome that did not happen", []porcupine.Operation{at(1, forever, create, nil), at(3, 4, create, made("a", false))}, true},
		{"a refund that fails", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, read, shown("a", "refunding")), at(5, 6, read, shown("a", "charged"))}, true},
		{"two first creates", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, create, made("a", false))}, false},
		{"a second transaction", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, create, made("b", true))}, false},
		{"a lost create", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, read, view{httpStatus: 404})}, false},
		{"a stale read", []porcupine.Operation{at(1, 2, create, made("a", false)), at(3, 4, read, shown("a", "refunded")), at(5, 6, read, shown("a", "charged"))}, false},
		{"a repetition of nothing", []porcupine.Operation{at(1, 2, create, made("a", true))}, false},
		{"another amount", []porcupine.Operation{at(1, 2, createInput{"4"}, made("a", false))}, false},
	} {
		if got := porcupine.CheckOperationsTimeout(paymentModel, withEnd(c.operations), searchTime) == porcupine.Ok; got != c.isAllowed {
			t.Errorf("%s: allowed is %v", c.name, got)
		}
	}
}
