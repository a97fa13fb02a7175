package contracts

import (
	"strings"

	"mizan/cmd/mizan/client"
)

// amountNames are the members of contracts, and of rows in them, that are amounts in minor units. The
// response does not tell which members are amounts: in one reading amounts are strings, as texts are,
// and in the other integers, as counts are.
var amountNames = set(
	// terms of the contract
	"underlying_asset_value total_value certificate_value early_redemption_penalty capital_amount asset_cost monthly_rental",
	"purchase_option_price advance_rental security_deposit residual_value bank_contribution customer_contribution rental_amount",
	"initial_amount down_payment earnest_deposit",
	// derived from the terms
	"total_profit_distributed current_value total_rentals_due total_rentals_paid total_owner_expenses arrears_amount rent_receivable",
	"buyout_unit_value total_profit total_loss bank_profit_share customer_profit_share rental_paid_total current_rental_amount markup_amount sale_price",
	"instalment_amount total_paid outstanding profit_recognised deferred_profit delinquent_amount actual_cost supplier_deposit rebate",
	"balance hibah_total",
	// members of rows
	"amount per_certificate gross_profit bank_share customer_share loss_amount new_value returned_to_bank variance cost_part profit_part",
	"penalty_amount final_value",
)

func set(lists ...string) map[string]bool {
	all := make(map[string]bool)
	for _, list := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = true
		}
	}
	return all
}

// IsAmount tells whether a contract's member with the name is an amount in minor units.
func IsAmount(name string) bool { return amountNames[name] }

// threeDigits are the currencies of contracts whose major unit has a thousand minor units (ISO
// 4217); all others have a hundred.
var threeDigits = set("BHD KWD OMR JOD")

// Decimals returns the number of decimals of a currency's amounts.
func Decimals(currency string) int {
	if threeDigits[currency] {
		return 3
	}
	return 2
}

// majorUnits converts minor units to major ones, with commas between thousands; text that is not a
// whole number stays as it is.
func majorUnits(minor, currency string) string {
	digits := strings.TrimPrefix(minor, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return client.Printable(minor)
	}
	sign := minor[:len(minor)-len(digits)]
	n := Decimals(currency)
	if len(digits) <= n {
		digits = strings.Repeat("0", n+1-len(digits)) + digits
	}
	whole, fraction := digits[:len(digits)-n], digits[len(digits)-n:]
	var b strings.Builder
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(whole[i])
	}
	return sign + b.String() + "." + fraction
}
