package linearizable

// This file has the model of the requests with one txid. The state is the one transaction that has the txid.

// txidState is the transaction. Its id and its status are empty as long as no response has shown them.
type txidState struct {
	exists             bool
	id, amount, status string
}

// The inputs of the operations. Their output is a txidOutput, or nil for a create of unknown outcome.
type (
	createInput   struct{ amount string }
	readByIDInput struct{ id string }
)

// txidOutput is a transaction as a response shows it.
type txidOutput struct {
	httpStatus         int
	id, amount, status string
	isReplay           bool // set for creates only, like hasOtherAmount
	hasOtherAmount     bool // the response says that the request's amount differs from the stored one
}

// txidModel is the model. The first create makes the only transaction. Each later create and each read shows that transaction
// with the first create's amount, and its status moves forward only.
var txidModel = newModel(txidState{}, func(state, input, output any, isOver bool) (bool, any) {
	s := state.(txidState)
	allowed := s.step(input, output, isOver)
	return allowed, s
})

func (s *txidState) step(input, output any, isOver bool) bool {
	create, isCreate := input.(createInput)
	if output == nil { // the outcome of the create is unknown
		if s.exists {
			return isCreate && isOver // the create was a repetition, or was not carried out
		}
		*s = txidState{exists: true, amount: create.amount}
		return isCreate
	}
	out := output.(txidOutput)
	if !isCreate {
		return out.httpStatus == 200 && s.exists && out.id == input.(readByIDInput).id && s.show(&out)
	}
	if !s.exists {
		*s = txidState{exists: true, amount: create.amount}
		return out.httpStatus == 201 && !out.isReplay && s.show(&out)
	}
	return out.httpStatus == 201 && out.isReplay && out.hasOtherAmount == (create.amount != s.amount) && s.show(&out)
}

// show updates the state with a response, and tells whether the response may follow the earlier ones.
func (s *txidState) show(out *txidOutput) bool {
	follows := out.id != "" && (s.id == "" || s.id == out.id) && out.amount == s.amount && isForward(s.status, out.status)
	s.id, s.status = out.id, out.status
	return follows
}

// statusOrder orders the statuses of a payment that is neither held nor refunded. The statuses with the number 5 are final.
var statusOrder = map[string]int{"": 0, "created": 1, "new": 2, "authorizing": 3, "charging": 4, "charged": 5, "rejected": 5, "failed": 5}

// isForward tells whether a transaction with the first status may have the second one at the same time or later.
func isForward(from, to string) bool {
	_, isKnown := statusOrder[to]
	return isKnown && to != "" && (from == to || statusOrder[from] < statusOrder[to])
}
