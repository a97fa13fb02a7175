package linearizable

// This file has the model of a managed investment in the secular reading. The table of transitions is from the specification.

// Terms of the contract. The profits in the clients' requests are multiples of 100, so the bank's share is always a whole number
// of minor units.
const (
	capital   = 1_000_000 // minor units
	bankShare = 60        // percent of a profit
)

// contractState has the contract's status and its current value in minor units. The value has a meaning only after the funding.
type contractState struct {
	status string
	value  int64
}

// actionInput is an action of a client; amount is 0 if the action has no amount. The action "read" is a GET of the contract. The
// output is a contractOutput, or nil if the outcome of the action is unknown.
type actionInput struct {
	action string
	amount int64
}

// contractOutput is what a response shows: the HTTP status, and the contract's status and value.
type contractOutput struct {
	httpStatus int
	status     string
	value      int64
}

// contractModel is the model of the contract. An action is possible only in the statuses that the specification names. In every
// other status it must be refused with 409.
var contractModel = newModel(contractState{status: "draft"}, func(state, input, output any, isOver bool) (bool, any) {
	s := state.(contractState)
	next, isPossible := s.after(input.(actionInput))
	out, isKnown := output.(contractOutput)
	switch {
	case !isKnown:
		return isPossible || isOver, next
	case !isPossible:
		return out.httpStatus == 409, s
	}
	return out.httpStatus == 200 && out.status == next.status && (!hasValue(next.status) || out.value == next.value), next
})

// hasValue tells whether current_value has a meaning in the status.
func hasValue(status string) bool {
	switch status {
	case "funded", "active", "completed", "liquidated":
		return true
	}
	return false
}

// after returns the state after an action, and whether the action is possible.
func (s contractState) after(in actionInput) (next contractState, isPossible bool) {
	switch in.action + " from " + s.status {
	case "submit from draft":
		return contractState{status: "under_review"}, true
	case "review from under_review":
		return contractState{status: "review_passed"}, true
	case "reject from under_review":
		return contractState{status: "rejected"}, true
	case "fund from draft", "fund from review_passed":
		return contractState{"funded", capital}, true
	case "activate from funded":
		return contractState{"active", s.value}, true
	case "profit from active":
		return contractState{"active", s.value + in.amount*bankShare/100}, true
	case "loss from active":
		if in.amount >= s.value {
			return contractState{"liquidated", 0}, true
		}
		return contractState{"active", s.value - in.amount}, true
	case "complete from funded", "complete from active":
		return contractState{"completed", in.amount}, true
	}
	return s, in.action == "read"
}
