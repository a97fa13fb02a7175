package linearizable

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// operations is a history written by hand.
type operations []porcupine.Operation

// at returns an operation that lasts from call to end.
func at(call, end int64, input, output any) porcupine.Operation {
	return porcupine.Operation{Input: input, Output: output, Call: call, Return: end}
}

// Each illegal history breaks one rule of the model. Beside it stands a legal history that differs only in what breaks the rule.
func TestEachModelFindsWhatIsNotAllowed(t *testing.T) {
	hundred := amountsModel(100)
	all := func(added, taken, held int64) amountsOutput {
		return amountsOutput{added - taken - held, true, added, taken, held}
	}
	balance := func(available int64) amountsOutput { return amountsOutput{available: available} }
	hold := func(n, amount int64) holdInput { return holdInput{n: n, amount: amount} }
	settle := func(n, amount int64) settleInput { return settleInput{n: n, amount: amount} }
	release := func(n, amount int64) releaseInput { return releaseInput{n: n, amount: amount} }

	created := func(id, amount, status string) txidOutput { return txidOutput{201, id, amount, status, false, false} }
	replayed := func(id, amount, status string, hasOtherAmount bool) txidOutput {
		return txidOutput{201, id, amount, status, true, hasOtherAmount}
	}
	five, six := createInput{"5"}, createInput{"6"}
	readX, shown := readByIDInput{"x"}, func(status string) txidOutput { return txidOutput{200, "x", "5", status, false, false} }

	one, two := keyInput{"1"}, keyInput{"2"}
	first := func(id string) keyOutput { return keyOutput{201, false, id, "response " + id} }
	again := func(id string) keyOutput { return keyOutput{201, true, id, "response " + id} }
	refused := keyOutput{httpStatus: 409}

	done := func(status string, value int64) contractOutput { return contractOutput{200, status, value} }
	conflict := contractOutput{httpStatus: 409}
	fund, activate, read := actionInput{action: "fund"}, actionInput{action: "activate"}, actionInput{action: "read"}

	for name, c := range map[string]struct {
		model          porcupine.Model
		illegal, legal operations
	}{
		"account: an overdraft": {hundred,
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, hold(2, 60), nil), at(0, 9, settle(2, 60), nil)},
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, hold(2, 40), nil), at(0, 9, settle(2, 40), nil)}},
		"account: a refusal although enough is available": {hundred,
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, refuseInput{40}, nil)},
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, refuseInput{41}, nil)}},
		"account: an answered payment that a kill lost": {hundred,
			operations{at(0, 1, addInput{5}, nil), at(2, 3, readInput{}, balance(100))},
			operations{at(0, forever, addInput{5}, nil), at(2, 3, readInput{}, balance(100))}},
		"account: a payment of unknown outcome that takes effect twice": {hundred,
			operations{at(0, forever, addInput{5}, nil), at(2, 3, readInput{}, balance(110))},
			operations{at(0, forever, addInput{5}, nil), at(2, 3, readInput{}, balance(105))}},
		"account: a payment of unknown outcome that is taken back": {hundred,
			operations{at(0, forever, addInput{5}, nil), at(2, 3, readInput{}, balance(105)), at(4, 5, readInput{}, balance(100))},
			operations{at(0, forever, addInput{5}, nil), at(2, 3, readInput{}, balance(100)), at(4, 5, readInput{}, balance(105))}},
		"account: a payout of unknown outcome that settles after its release": {hundred,
			operations{
				at(0, forever, holdInput{1, 60, true}, nil), at(0, forever, settleInput{1, 60, true}, nil), at(0, forever, releaseInput{1, 60, true}, nil),
				at(2, 3, readInput{}, all(100, 0, 60)), at(4, 5, readInput{}, all(100, 0, 0)), at(6, 7, readInput{}, all(100, 60, 0)),
			},
			operations{
				at(0, forever, holdInput{1, 60, true}, nil), at(0, forever, settleInput{1, 60, true}, nil), at(0, forever, releaseInput{1, 60, true}, nil),
				at(2, 3, readInput{}, all(100, 0, 0)), at(4, 5, readInput{}, all(100, 0, 60)), at(6, 7, readInput{}, all(100, 60, 0)),
			}},
		"account: money that is held and spent at once": {hundred,
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, readInput{}, all(100, 60, 60))},
			operations{at(0, 9, hold(1, 60), nil), at(0, 9, settle(1, 60), nil), at(0, 9, readInput{}, all(100, 0, 60))}},
		"account: a response that no rule allows": {hundred,
			operations{at(0, 1, unexpected+"500", nil)}, operations{at(0, 1, readInput{}, balance(100))}},
		"limit: more than its maximum": {hundred,
			operations{at(0, 1, hold(1, 90), nil), at(0, 1, settle(1, 90), nil), at(2, 3, hold(2, 20), nil), at(2, 3, settle(2, 20), nil)},
			operations{at(0, 1, hold(1, 90), nil), at(0, 1, settle(1, 90), nil), at(2, 3, refuseInput{20}, nil)}},
		"limit: a declined payment that still counts": {hundred,
			operations{at(0, 1, hold(1, 90), nil), at(0, 1, release(1, 90), nil), at(2, 3, refuseInput{20}, nil)},
			operations{at(0, 1, hold(1, 90), nil), at(0, 2, release(1, 90), nil), at(2, 3, refuseInput{20}, nil)}},
		"limit: usage that a kill forgot": {hundred,
			operations{at(0, 1, hold(1, 90), nil), at(0, 1, settle(1, 90), nil), at(2, 3, readInput{}, all(100, 0, 0))},
			operations{at(0, 1, hold(1, 90), nil), at(0, 1, settle(1, 90), nil), at(2, 3, readInput{}, all(100, 90, 0))}},

		"txid: two transactions": {txidModel,
			operations{at(0, 9, five, created("x", "5", "charged")), at(0, 9, six, created("y", "6", "charged"))},
			operations{at(0, 9, five, created("x", "5", "charged")), at(0, 9, six, replayed("x", "5", "charged", true))}},
		"txid: a second transaction after an unknown outcome that was seen": {txidModel,
			operations{at(0, forever, five, nil), at(2, 3, five, replayed("x", "5", "failed", false)), at(4, 5, five, replayed("y", "5", "charged", false))},
			operations{at(0, forever, five, nil), at(2, 3, five, replayed("x", "5", "failed", false)), at(4, 5, five, replayed("x", "5", "failed", false))}},
		"txid: a replay of what nobody asked for": {txidModel,
			operations{at(0, forever, five, nil), at(2, 3, six, replayed("x", "6", "charged", false))},
			operations{at(0, forever, five, nil), at(2, 3, six, replayed("x", "5", "charged", true))}},
		"txid: a replay before its create": {txidModel,
			operations{at(0, 1, five, replayed("x", "5", "charged", false)), at(2, 3, five, created("x", "5", "charged"))},
			operations{at(0, 2, five, replayed("x", "5", "charged", false)), at(1, 3, five, created("x", "5", "charged"))}},
		"txid: a transaction that a kill lost": {txidModel,
			operations{at(0, 1, five, created("x", "5", "charged")), at(2, 3, readX, txidOutput{httpStatus: 404})},
			operations{at(0, 1, five, created("x", "5", "charged")), at(2, 3, readX, shown("charged"))}},
		"txid: a status that moves back": {txidModel,
			operations{at(0, 1, five, created("x", "5", "charged")), at(2, 3, readX, shown("charging"))},
			operations{at(0, 1, five, created("x", "5", "charging")), at(2, 3, readX, shown("charged"))}},
		"txid: a final status that changes": {txidModel,
			operations{at(0, 1, five, created("x", "5", "failed")), at(2, 3, readX, shown("charged"))},
			operations{at(0, 1, five, created("x", "5", "authorizing")), at(2, 3, readX, shown("failed"))}},

		"key: a request that is carried out twice": {keyModel,
			operations{at(0, 1, one, first("x")), at(2, 3, one, first("y"))},
			operations{at(0, 1, one, first("x")), at(2, 3, one, again("x"))}},
		"key: another response": {keyModel,
			operations{at(0, 1, one, first("x")), at(2, 3, one, keyOutput{201, true, "x", "another response"})},
			operations{at(0, forever, one, nil), at(2, 3, one, keyOutput{201, true, "x", "another response"})}},
		"key: two records after an unknown outcome": {keyModel,
			operations{at(0, forever, one, nil), at(2, 3, one, again("x")), at(4, 5, one, again("y"))},
			operations{at(0, forever, one, nil), at(2, 3, one, again("x")), at(4, 5, one, again("x"))}},
		"key: another body is carried out": {keyModel,
			operations{at(0, 1, one, first("x")), at(2, 3, two, first("y"))},
			operations{at(0, 1, one, first("x")), at(2, 3, two, refused)}},
		"key: a refusal of an unused key": {keyModel,
			operations{at(0, 1, two, refused), at(2, 3, one, first("x"))},
			operations{at(0, 2, two, refused), at(1, 3, one, first("x"))}},

		"contract: a transition that happens twice": {contractModel,
			operations{at(0, 9, fund, done("funded", capital)), at(0, 9, fund, done("funded", capital))},
			operations{at(0, 9, fund, done("funded", capital)), at(0, 9, fund, conflict)}},
		"contract: a transition from another status": {contractModel,
			operations{at(0, 1, activate, done("active", capital))},
			operations{at(0, 1, activate, conflict)}},
		"contract: a refused transition that is possible": {contractModel,
			operations{at(0, 1, fund, conflict)},
			operations{at(0, forever, fund, nil), at(1, 2, fund, conflict)}},
		"contract: a loss that is applied twice": {contractModel,
			operations{at(0, 1, fund, done("funded", capital)), at(2, 3, activate, done("active", capital)), at(4, forever, actionInput{"loss", 7}, nil), at(5, 6, read, done("active", capital-14))},
			operations{at(0, 1, fund, done("funded", capital)), at(2, 3, activate, done("active", capital)), at(4, forever, actionInput{"loss", 7}, nil), at(5, 6, read, done("active", capital-7))}},
		"contract: an action that a kill lost": {contractModel,
			operations{at(0, 1, fund, done("funded", capital)), at(2, 3, read, done("draft", 0))},
			operations{at(0, forever, fund, nil), at(2, 3, read, done("draft", 0))}},
		"contract: the wrong share of a profit": {contractModel,
			operations{at(0, 1, fund, done("funded", capital)), at(2, 3, activate, done("active", capital)), at(4, 5, actionInput{"profit", 1000}, done("active", capital+1000))},
			operations{at(0, 1, fund, done("funded", capital)), at(2, 3, activate, done("active", capital)), at(4, 5, actionInput{"profit", 1000}, done("active", capital+600))}},
	} {
		if result := porcupine.CheckOperationsTimeout(c.model, withEndInput(c.illegal), searchTime); result != porcupine.Illegal {
			t.Errorf("%s: %s", name, result)
		}
		if result := porcupine.CheckOperationsTimeout(c.model, withEndInput(c.legal), searchTime); result != porcupine.Ok {
			t.Errorf("not %s: %s", name, result)
		}
	}
}
