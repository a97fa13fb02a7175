package providersuite

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// directoryOf has the settings of one partner, in memory. It implements Directory of actors/payment.
type directoryOf struct {
	partner   *directory.Partner
	terminals []*directory.Terminal
}

// Organization implements Directory.
func (d *directoryOf) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Status: directory.Active}, id == d.partner.Org
}

// Partner implements Directory.
func (d *directoryOf) Partner(ledger.ID, int64) (*directory.Partner, bool) { return d.partner, true }

// Terminals implements Directory.
func (d *directoryOf) Terminals(ledger.ID, int64) []*directory.Terminal { return d.terminals }

// Terminal implements Directory.
func (d *directoryOf) Terminal(_, id ledger.ID) (*directory.Terminal, bool) {
	for _, t := range d.terminals {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

// Rate implements Directory.
func (d *directoryOf) Rate(ledger.ID, money.Currency, money.Currency) (money.Rate, bool) {
	return money.Rate{}, false
}

// Limits implements Directory.
func (d *directoryOf) Limits(ledger.ID, int64) []*directory.Limit { return nil }

// HasBlocks implements Directory.
func (d *directoryOf) HasBlocks(ledger.ID) bool { return false }

// Blocked implements Directory.
func (d *directoryOf) Blocked(ledger.ID, *directory.Payer) (string, bool) { return "", false }
