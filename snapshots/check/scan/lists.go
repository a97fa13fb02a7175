package scan

import "mizan/ledger"

// ListOfSubscriptions marks the lists of subscriptions. The mark is in the byte of a list's key
// that has the environment.
const ListOfSubscriptions = 0x20

// Marks of the lists of contracts, in the same byte: the list of a product in a reading, and
// the list of one party's contracts.
const (
	listOfProduct = 0x10
	ListOfPerson  = 0x08
)

// Marks of the lists of settlements, in the same byte: with a partner's bank, and with a
// provider.
const (
	ListWithBank     = 0x80
	ListWithProvider = 0x40
	listWithAny      = ListWithBank | ListWithProvider
)

// KindListed returns the kind of record that a list shows, from that byte.
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
