package directory

import (
	"log/slog"
	"slices"
	"strconv"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Settlement is money that moved between the institution's bank account and a partner's bank, or
// a terminal's provider, outside of any transaction.
type Settlement struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64     // the settled partner, or the owner of Terminal
	Terminal  ledger.ID // the terminal whose provider settled; zero: the settlement is with the partner's bank
	Reference string    // the bank's reference; unique per partner, or per terminal
	Out       bool      // to the partner's bank; else from that bank, or from the provider
	Lines     []SettlementLine
	Fee       money.Amount // kept by the provider, out of the one line's amount
	Created   ledger.Micros
	Seq       uint64 // of the first entry; like Created from the envelope
}

// SettlementLine is the amount moved in one asset; with a provider, the gross amount.
type SettlementLine struct {
	Asset  money.Asset
	Amount money.Amount
}

// LogValue implements slog.LogValuer.
func (s *Settlement) LogValue() slog.Value { return slog.StringValue(s.ID.String()) }

// WithProvider tells whether the settlement is with a provider rather than a partner's bank.
func (s *Settlement) WithProvider() bool { return s.Terminal != ledger.ID{} }

// Same tells whether the other settlement moved the same money for the same reference. Then it
// is a repeated request.
func (s *Settlement) Same(o *Settlement) bool {
	return s.Org == o.Org && s.Partner == o.Partner && s.Terminal == o.Terminal && s.Reference == o.Reference &&
		s.Out == o.Out && s.Fee == o.Fee && slices.Equal(s.Lines, o.Lines)
}

// Key returns the claim that the settlement takes on its reference.
func (s *Settlement) Key() string {
	if s.WithProvider() {
		return "terminal/" + s.Terminal.String() + "/" + s.Reference
	}
	return SettlementKey(s.Partner, s.Reference)
}

// SettlementKey returns the claim that a partner's settlement takes on its reference.
func SettlementKey(partner int64, reference string) string {
	return "partner/" + strconv.FormatInt(partner, 10) + "/" + reference
}

// SettlementDraft is a request for a settlement.
type SettlementDraft struct {
	Currency money.Currency

	// Network is nil if the request has none; a currency with several networks requires one. An
	// empty network stands for money whose network was never known.
	Network *money.Network

	Env       money.Env
	Amount    money.Amount // in minor units; gross for a provider
	Reference string       // 1 to MaxText characters
}

// check checks the draft and returns its asset. amount is the name of the field with the amount.
func (d *SettlementDraft) check(op, amount string) (money.Asset, error) {
	asset, err := d.asset(op)
	return asset, Join(
		check(!d.Amount.IsZero(), op, amount, "must be above zero"),
		check(!ledger.MaxAmount.Less(d.Amount), op, amount, "is out of range"),
		err,
		checkText(op, "reference", d.Reference),
	)
}

// asset returns the asset of the amount, found as for a transaction. A currency with the same
// scale everywhere has no network.
func (d *SettlementDraft) asset(op string) (money.Asset, error) {
	asset := money.Asset{Currency: d.Currency, Env: d.Env}
	_, taken := money.Accepted(string(d.Currency))
	var named money.Network
	assign(&named, d.Network)
	_, well := money.ParseNetwork(string(named))
	wrong := Join(
		check(taken, op, "currency", "unsupported currency"),
		check(well || named == "", op, "network", "is not a network's name"),
		check(d.Env.Valid(), op, "env", "must be prod or test"),
	)
	if wrong != nil {
		return asset, wrong
	}
	if _, alone := asset.Scale(); alone {
		return asset, nil
	}
	if asset.Network = money.ResolveNetwork(d.Currency, ""); asset.Network == "" && d.Network == nil {
		return asset, ledger.RefuseField(op, "network", "is required: %s is on several networks", d.Currency)
	}
	if named != "" {
		asset.Network = named
		if _, known := asset.Scale(); !known {
			return asset, ledger.RefuseField(op, "network", "is no network of %s", d.Currency)
		}
	}
	return asset, nil
}

// NewSettlement decides a payment between the institution's bank account and the partner's bank,
// out or in. Incoming money first pays the partner's debt. The claim decides whether the
// reference is free, and Funds guards that enough money is available. The error is Join's.
func NewSettlement(id ledger.ID, owner *Partner, out bool, d SettlementDraft) (*Settlement, ledger.Event, error) {
	asset, err := d.check("directory.SettlePartner", "amount")
	if err != nil {
		return nil, ledger.Event{}, err
	}
	s := &Settlement{
		ID: id, Org: owner.Org, Partner: owner.Number, Reference: d.Reference, Out: out,
		Lines: []SettlementLine{{asset, d.Amount}},
	}
	available := ledger.Posting{Account: ledger.PartnerAvailable(owner.Number), Asset: asset, Amount: d.Amount}
	bank := ledger.Posting{Account: ledger.Bank, Asset: asset, Amount: d.Amount}
	if out {
		available.Side, bank.Side = ledger.Debit, ledger.Credit
		return s, s.settled(available, bank), nil
	}
	available.Side, bank.Side = ledger.Credit, ledger.Debit
	available.Spill = ledger.PartnerReceivable(owner.Number)
	return s, s.settled(bank, available), nil
}

// NewProviderSettlement decides that a terminal's provider has paid its debt less a fee. The
// claim decides whether the reference is free. The error is Join's, or a Conflict for a terminal
// of type merchant.
func NewProviderSettlement(id ledger.ID, at *Terminal, fee money.Amount, d SettlementDraft) (*Settlement, ledger.Event, error) {
	const op = "directory.SettleProvider"
	asset, err := d.check(op, "gross")
	net, above := d.Amount.Sub(fee)
	err = Join(
		check(above == nil || d.Amount.IsZero(), op, "fee", "is above gross"),
		err,
		check(d.Env == at.Env || !d.Env.Valid(), op, "env", "must be the terminal's: %v", at.Env),
	)
	if err != nil {
		return nil, ledger.Event{}, err
	}
	if at.Type == MerchantTerminal {
		return nil, ledger.Event{}, ledger.Refuse(op, ledger.Conflict, "a terminal of type merchant moves no money")
	}
	s := &Settlement{
		ID: id, Org: at.Org, Partner: at.Partner, Terminal: at.ID, Reference: d.Reference,
		Lines: []SettlementLine{{asset, d.Amount}}, Fee: fee,
	}
	return s, s.settled(
		ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: net},
		ledger.Posting{Account: ledger.ProviderFees, Asset: asset, Side: ledger.Debit, Amount: fee},
		ledger.Posting{Account: ledger.ProviderReceivable(at.ID), Asset: asset, Side: ledger.Credit, Amount: d.Amount},
	), nil
}

// settled returns the event that books the postings, without those of zero.
func (s *Settlement) settled(postings ...ledger.Posting) ledger.Event {
	event := began(ledger.Settlement, s.ID, StateSettled)
	nothing := func(p ledger.Posting) bool { return p.Amount.IsZero() }
	event.Entry = &ledger.Entry{Phase: ledger.Posted, Postings: slices.DeleteFunc(postings, nothing)}
	assert.NoError(event.Entry.Check())
	return event
}

// Funds returns guards against paying out more than the partner has, including its overdraft, as
// for a payout.
func (s *Settlement) Funds(owner *Partner) (guards []ledger.FundsGuard) {
	if !s.Out {
		return nil
	}
	for _, line := range s.Lines {
		guards = append(guards, ledger.FundsGuard{
			Org:       s.Org,
			Account:   ledger.Account{Path: ledger.PartnerAvailable(s.Partner), Asset: line.Asset},
			Overdraft: owner.OverdraftOf(line.Asset),
		})
	}
	return guards
}

// Counters returns guards that keep the totals of the settlement's assets in range.
func (s *Settlement) Counters() (guards []ledger.CounterGuard) {
	for _, line := range s.Lines {
		guards = append(guards, ledger.Headroom(s.Org, line.Asset, line.Amount))
	}
	return guards
}

// Claim returns the claim on the reference.
func (s *Settlement) Claim() ledger.Claim {
	return ledger.Claim{Org: s.Org, Kind: ledger.ClaimSettlement, Key: s.Key(), Owner: s.ID[:]}
}
