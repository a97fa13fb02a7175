package scan

import "mizan/ledger"

// ListOfSubscriptions is what the lists of subscriptions have in their
// environment's byte beside the environment.
const ListOfSubscriptions = 0x20

// What the lists of contracts have in their environment's byte: those of a product
// in a reading, and those in which somebody has a part.
const (
	listOfProduct = 0x10
	ListOfPerson  = 0x08
)

// What the lists of settlements have in their environment's byte beside the
// environment: with a partner's bank, and with a provider.
const (
	ListWithBank     = 0x80
	ListWithProvider = 0x40
	listWithAny      = ListWithBank | ListWithProvider
)

// KindListed is the kind of the records that a list shows.
func KindListed(env byte) ledger.Kind {
	switch {
	case env&listWithAny != 0:
		return ledger.Settlement
	case env&ListOfSubscriptions != 0:
		return ledger.Subscription
	case env&(listOfProduct|ListOfPerson) != 0:
		return ledger.Contract
	}
	return ledger.Transaction
}
