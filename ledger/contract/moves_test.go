package contract

import (
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// A handler that moves money must declare so (ActionHandler.Moves). The tests that no money moves before a review rely on
// these declarations. Tests with random actions on contracts find a handler that books an entry without the declaration.
// Managed investments and leases are tried here, the other products in their own tests.
func TestHandlersDeclareThatTheyMoveMoney(t *testing.T) {
	datedAmounts := func(name string, bound money.Amount) func(*dice, schema.Row) schema.Input {
		return func(d *dice, v schema.Row) schema.Input {
			return input(name, d.amountText(bound), "period_end_date", d.periodEndFrom(miStart.Get(v)))
		}
	}
	thousand := money.FromUint64(1000)
	for _, reading := range Readings {
		t.Run("managed investment, "+reading.Name, func(t *testing.T) {
			randomLives{
				product: Managed, reading: reading, endStates: []Status{"completed", "liquidated"}, rareActions: []Action{Submit, Reject, Complete},
				body: func(d *dice) schema.Input {
					return withChanges(managedBody, "capital_amount", quote(d.number(1, 1000)), "profit_sharing_ratio", d.ratio())
				},
				bodies: map[Action]func(*dice, schema.Row) schema.Input{
					Reject: reasonBody, Profit: datedAmounts("gross_profit", thousand), Loss: datedAmounts("amount", thousand), Complete: amountsOf("final_value", defaultBound),
				},
			}.check(t)
		})
		t.Run("lease, "+reading.Name, func(t *testing.T) {
			randomLives{
				product: Lease, reading: reading, endStates: []Status{Completed, Terminated}, openStems: []string{"A:rent_receivable"},
				rareActions: []Action{Submit, Reject, Terminate, ReturnAsset, MarkTransfer},
				body: func(d *dice) schema.Input {
					body := leaseBody("lease_term_months", d.numberText(1, 12), "monthly_rental", quote(d.number(1, 200)))
					if d.chance(50) {
						body = withChanges(body, financeChanges...)
					}
					return body
				},
				bodies: map[Action]func(*dice, schema.Row) schema.Input{
					Reject: reasonBody, Terminate: reasonBody,
					Acquire:       func(*dice, schema.Row) schema.Input { return input("ownership_documents", `["deed"]`) },
					PayRent:       amountsOf("amount", func(v schema.Row) money.Amount { return minusOrZero(lsTotalDue.Get(v), lsTotalPaid.Get(v)) }),
					RecordArrears: amountsOf("amount", defaultBound),
					BearExpense: func(d *dice, _ schema.Row) schema.Input {
						return input("amount", d.amountText(thousand), "description", `"tyres"`)
					},
				},
			}.check(t)
		})
	}
}
