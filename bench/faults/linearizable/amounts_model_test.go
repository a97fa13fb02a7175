package linearizable

import "github.com/anishathalye/porcupine"

// This file has the model of an account and of a volume limit. Both follow the same rules. A request can hold only as much as is
// available. Held money is either settled or released, and only once. A request is not refused if its amount is available.
// Payments add to an account; payouts and refunds take from it. A limit begins with its maximum; each payment takes from it.

// amountsState is the state of the model. The amounts are in minor units. A request that takes an amount (a payout, say) first
// holds the amount, and later the hold ends. Each such request has a bit: it is set in holding once the amount was held, and in
// ended once the hold has ended.
type amountsState struct {
	added, taken, held int64
	holding, ended     uint64
}

func (s *amountsState) available() int64 { return s.added - s.taken - s.held }

// The inputs of the steps. n is the number of the request's bit in amountsState. A request that takes an amount and whose
// outcome is unknown has three steps: a hold, a settlement and a release. In these steps maybe is set, which means that the step
// may also have no effect.
type (
	addInput  struct{ amount int64 }
	holdInput struct {
		n, amount int64
		maybe     bool
	}
	settleInput struct {
		n, amount int64
		maybe     bool
	}
	releaseInput struct {
		n, amount int64
		maybe     bool
	}
	refuseInput struct{ amount int64 } // too little was available
	readInput   struct{}               // its output is an amountsOutput
)

// amountsOutput is the result of a read. Some reads show only the available amount.
type amountsOutput struct {
	available          int64
	hasAll             bool
	added, taken, held int64
}

// amountsModel is the model of an account with this opening balance, or of a limit with this maximum.
func amountsModel(opening int64) porcupine.Model {
	return newModel(amountsState{added: opening}, func(state, input, output any, isOver bool) (bool, any) {
		s := state.(amountsState)
		allowed := s.step(input, output, isOver)
		return allowed, s
	})
}

// step changes the state, and tells whether the step is allowed in it.
func (s *amountsState) step(input, output any, isOver bool) bool {
	switch in := input.(type) {
	case addInput:
		s.added += in.amount
		return true
	case holdInput:
		if in.amount > s.available() {
			return in.maybe && isOver
		}
		s.held += in.amount
		s.holding |= 1 << in.n
		return true
	case settleInput:
		isHeld := s.end(in.n, in.amount)
		if isHeld {
			s.taken += in.amount
		}
		return isHeld || in.maybe && isOver
	case releaseInput:
		return s.end(in.n, in.amount) || in.maybe && isOver
	case refuseInput:
		return in.amount > s.available()
	case readInput:
		out := output.(amountsOutput)
		return out.available == s.available() && (!out.hasAll || out.added == s.added && out.taken == s.taken && out.held == s.held)
	}
	return false
}

// end ends the hold of the request with bit n. It returns false if this request holds nothing.
func (s *amountsState) end(n, amount int64) bool {
	if s.holding&(1<<n) == 0 || s.ended&(1<<n) != 0 {
		return false
	}
	s.held -= amount
	s.ended |= 1 << n
	return true
}
