package directory

import (
	"log/slog"
	"slices"
	"strconv"

	"mizan/ledger/columns"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Settlement is a payment outside of any transaction, between the institution's bank account and a partner's bank or the
// provider of a terminal.
type Settlement struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64     // the partner of the settlement, or the partner that owns Terminal
	Terminal  ledger.ID // the terminal whose provider settled; zero: the settlement is with the partner's bank
	Reference string    // the bank's or provider's reference; unique per partner or per terminal
	Outgoing  bool      // the money goes to the partner's bank; else it comes from that bank or from the provider
	Lines     []SettlementLine
	Fee       money.Amount // the part of the amount that the provider kept; the settlement then has only one line
	Created   ledger.Micros
	Seq       uint64 // journal number of the first event; like Created, not in the stored form
}

// SettlementLine is the amount of a settlement in one asset. In a settlement with a provider, it is the amount before the
// provider's fee.
type SettlementLine struct {
	Asset  money.Asset
	Amount money.Amount
}

// Settlements are the columns of settlements. A settlement with a partner's bank has a direction and an amount. A
// settlement with a provider has gross, fee and net. The opening balance of the sandbox has a line for each asset.
var Settlements = schema.NewType[Settlement]("settlement",
	columns.IDColumn(func(s *Settlement) *ledger.ID { return &s.ID }),
	columns.PartnerColumn(1, func(s *Settlement) *int64 { return &s.Partner }, schema.Required, schema.Fixed),
	schema.Field(schema.ID(2, "terminal_id", schema.Fixed, schema.Sparse,
		schema.Help("the terminal whose provider settled")), func(s *Settlement) *ledger.ID { return &s.Terminal }),
	settlementAmount("gross", "amount that the provider settled, its fee included", func(s *Settlement) (money.Amount, bool) { return s.firstAmount(), s.WithProvider() }),
	settlementAmount("fee", "fee that the provider kept", func(s *Settlement) (money.Amount, bool) { return s.Fee, s.WithProvider() }),
	settlementAmount("net", "amount that arrived: gross less fee", func(s *Settlement) (money.Amount, bool) { return s.net(), s.WithProvider() }),
	schema.Shown(schema.Word(0, "direction", []string{Inward, Outward}, schema.Sparse, schema.ReadOnlyFixed,
		schema.Help("in: from the partner's bank; out: to it")), func(s *Settlement) (string, bool) { return s.direction(), !s.WithProvider() }),
	settlementAmount("amount", "minor units", func(s *Settlement) (money.Amount, bool) {
		return s.firstAmount(), !s.WithProvider() && len(s.Lines) == 1
	}),
	schema.Shown(schema.Entries(0, "lines", settlementLines, schema.Sparse, schema.ReadOnlyFixed,
		schema.Help("amounts in several assets")), func(s *Settlement) ([]SettlementLine, bool) { return s.Lines, len(s.Lines) > 1 }),
	settlementText("currency", "currency code", func(a money.Asset) string { return string(a.Currency) }),
	settlementText("network", "network of the currency", func(a money.Asset) string { return string(a.Network) }),
	settlementText("env", "environment", func(a money.Asset) string { return a.Env.String() }),
	schema.Field(schema.Text(3, "reference", schema.Required, schema.Fixed,
		schema.Help("the bank's or provider's reference")), func(s *Settlement) *string { return &s.Reference }),
	columns.CreatedColumn(func(s *Settlement) *ledger.Micros { return &s.Created }),
	schema.NumberField(schema.Seq(0, "seq", schema.NotNull, schema.Transient, schema.ReadOnlyFixed,
		schema.Help("number of its first entry in the journal")), func(s *Settlement) *uint64 { return &s.Seq }),
	schema.Field(schema.Bool(4, "out", schema.NotShown), func(s *Settlement) *bool { return &s.Outgoing }),
	schema.Field(schema.Entries(5, "stored_lines", settlementLines, schema.NotShown, schema.RequiredInStore), func(s *Settlement) *[]SettlementLine { return &s.Lines }),
	schema.Field(schema.Amount(6, "stored_fee", schema.NotShown, schema.OrZero), func(s *Settlement) *money.Amount { return &s.Fee }),
).Invariant(func(s *Settlement) string {
	switch withProvider := s.WithProvider(); {
	case withProvider && (len(s.Lines) != 1 || s.Outgoing), !withProvider && !s.Fee.IsZero():
		return "is valid neither as a settlement with a bank nor as one with a provider"
	case withProvider && s.Lines[0].Amount.Less(s.Fee):
		return "has a fee above its amount"
	}
	return partnerNumberProblem(s.Partner)
}).WithEnvelope(func(s *Settlement, envelope schema.Envelope) {
	s.Org, s.ID, s.Created, s.Seq = envelope.Org, envelope.ID, envelope.Created, envelope.Seq
})

var settlementLines = schema.NewType[SettlementLine]("line",
	schema.Field(schema.Amount(1, "amount", schema.RequiredInStore, schema.Help("minor units")), func(l *SettlementLine) *money.Amount { return &l.Amount }),
	columns.CurrencyColumn(2, func(l *SettlementLine) *money.Asset { return &l.Asset }, schema.RequiredInStore),
	columns.NetworkColumn(3, func(l *SettlementLine) *money.Asset { return &l.Asset }),
	columns.AssetEnvColumn(4, func(l *SettlementLine) *money.Asset { return &l.Asset }),
)

// settlementAmount returns a column with an amount that only some settlements have.
func settlementAmount(name, help string, amount func(*Settlement) (money.Amount, bool)) *schema.Column {
	return schema.Shown(schema.Amount(0, name, schema.Sparse, schema.ReadOnlyFixed, schema.Help(help)), amount)
}

// settlementText returns a column with one part (such as the currency) of a settlement's asset. A settlement in several
// assets does not show the column.
func settlementText(name, help string, partOf func(money.Asset) string) *schema.Column {
	return schema.Shown(schema.Text(0, name, schema.Sparse, schema.ReadOnlyFixed, schema.Help(help)),
		func(s *Settlement) (string, bool) { return partOf(s.Lines[0].Asset), len(s.Lines) == 1 })
}

// Directions of a settlement with a partner's bank.
const (
	Inward  = "in"
	Outward = "out"
)

func (s *Settlement) direction() string {
	if s.Outgoing {
		return Outward
	}
	return Inward
}

func (s *Settlement) firstAmount() money.Amount { return s.Lines[0].Amount }

func (s *Settlement) net() money.Amount {
	net, _ := s.firstAmount().Sub(s.Fee) // a fee is never above gross
	return net
}

// LogValue implements slog.LogValuer.
func (s *Settlement) LogValue() slog.Value { return slog.StringValue(s.ID.String()) }

// SettlementLists declares the lists of settlements. Each partner has its own copy of each list in
// each environment, and a settlement is in at most one list. A settlement that moved
// several assets, such as the sandbox's opening balance, is in no list.
var SettlementLists = ledger.NewPartnerLists(ledger.Settlement, func(s *Settlement) (partner int64, env money.Env) { return s.Partner, s.Lines[0].Asset.Env })

// The lists of settlements.
var (
	SettlementsWithBank     = SettlementLists.Declare(1, func(s *Settlement) bool { return len(s.Lines) == 1 && !s.WithProvider() })
	SettlementsWithProvider = SettlementLists.Declare(2, func(s *Settlement) bool { return len(s.Lines) == 1 && s.WithProvider() })
)

// WithProvider tells whether the settlement is with a provider rather than a partner's bank.
func (s *Settlement) WithProvider() bool { return s.Terminal != ledger.ID{} }

// Same tells whether the other settlement moved the same money with the same reference. If so, it comes from a repeated
// request.
func (s *Settlement) Same(other *Settlement) bool {
	return s.Org == other.Org && s.Partner == other.Partner && s.Terminal == other.Terminal && s.Reference == other.Reference &&
		s.Outgoing == other.Outgoing && s.Fee == other.Fee && slices.Equal(s.Lines, other.Lines)
}

// Key returns the key of the settlement's claim. The claim makes sure that a reference is used only once.
func (s *Settlement) Key() string {
	if s.WithProvider() {
		return "terminal/" + s.Terminal.String() + "/" + s.Reference
	}
	return SettlementKey(s.Partner, s.Reference)
}

// SettlementKey returns the key of the claim on the reference of a settlement with the partner's bank.
func SettlementKey(partner int64, reference string) string {
	return "partner/" + strconv.FormatInt(partner, 10) + "/" + reference
}

// SettlementDraft is a request for a settlement.
type SettlementDraft struct {
	Currency money.Currency

	// Network is nil if the request has none. A currency on several networks requires one. An empty network is for money
	// whose network was never known.
	Network *money.Network

	Env       money.Env
	Amount    money.Amount // in minor units; in a settlement with a provider, the amount before the fee
	Reference string       // 1 to MaxText characters
}

// check checks the draft and returns its asset. amountField is the name of the request's field with the amount.
func (draft *SettlementDraft) check(op, amountField string) (money.Asset, error) {
	asset, err := draft.asset(op)
	return asset, Join(
		check(!draft.Amount.IsZero(), op, amountField, "must be above zero"),
		check(!ledger.MaxAmount.Less(draft.Amount), op, amountField, "is out of range"),
		err,
		checkText(op, "reference", draft.Reference),
	)
}

// asset returns the asset of the amount. A currency that has a scale without a network, such as a national currency, gets no
// network. Other currencies get the network of the request, or their only network.
func (draft *SettlementDraft) asset(op string) (money.Asset, error) {
	asset := money.Asset{Currency: draft.Currency, Env: draft.Env}
	_, accepted := money.AcceptedCurrency(string(draft.Currency))
	var network money.Network
	if draft.Network != nil {
		network = *draft.Network
	}
	_, validName := money.ParseNetwork(string(network))
	err := Join(
		check(accepted, op, "currency", "unsupported currency"),
		check(validName || network == "", op, "network", "is not a network's name"),
		check(draft.Env.Valid(), op, "env", "must be prod or test"),
	)
	if err != nil {
		return asset, err
	}
	if _, withoutNetworks := asset.Scale(); withoutNetworks {
		return asset, nil
	}
	if asset.Network = money.ResolveNetwork(draft.Currency, ""); asset.Network == "" && draft.Network == nil {
		return asset, ledger.RefuseField(op, "network", "is required: %s is on several networks", draft.Currency)
	}
	if network != "" {
		asset.Network = network
		if _, known := asset.Scale(); !known {
			return asset, ledger.RefuseField(op, "network", "is no network of %s", draft.Currency)
		}
	}
	return asset, nil
}

// NewSettlement returns a new outgoing or incoming payment between the institution's bank account and the partner's bank, and
// the event that books it. Incoming money first pays the partner's debt. When the event is booked, the settlement's Claim
// makes sure that the reference is free, and its Funds make sure that enough money is available. The error names all wrong
// fields.
func NewSettlement(id ledger.ID, owner *Partner, outgoing bool, draft SettlementDraft) (*Settlement, ledger.Event, error) {
	asset, err := draft.check("directory.SettlePartner", "amount")
	if err != nil {
		return nil, ledger.Event{}, err
	}
	s := &Settlement{
		ID: id, Org: owner.Org, Partner: owner.Number, Reference: draft.Reference, Outgoing: outgoing,
		Lines: []SettlementLine{{asset, draft.Amount}},
	}
	available := ledger.Posting{Account: ledger.PartnerAvailable(owner.Number), Asset: asset, Amount: draft.Amount}
	bank := ledger.Posting{Account: ledger.Bank, Asset: asset, Amount: draft.Amount}
	if outgoing {
		available.Side, bank.Side = ledger.Debit, ledger.Credit
		return s, s.bookingEvent(available, bank), nil
	}
	available.Side, bank.Side = ledger.Credit, ledger.Debit
	available.Spill = ledger.PartnerReceivable(owner.Number)
	return s, s.bookingEvent(bank, available), nil
}

// NewProviderSettlement returns a new payment from the provider of a terminal, and the event that books it. The draft's
// amount is the part of the provider's debt that is settled; the provider keeps the fee from it. When the event is booked,
// the settlement's Claim makes sure that the reference is free. The error names all wrong fields, or is a Conflict for
// a terminal of type merchant.
func NewProviderSettlement(id ledger.ID, terminal *Terminal, fee money.Amount, draft SettlementDraft) (*Settlement, ledger.Event, error) {
	const op = "directory.SettleProvider"
	asset, err := draft.check(op, "gross")
	net, feeErr := draft.Amount.Sub(fee)
	err = Join(
		check(feeErr == nil || draft.Amount.IsZero(), op, "fee", "is above gross"),
		err,
		check(draft.Env == terminal.Env || !draft.Env.Valid(), op, "env", "must be the terminal's: %v", terminal.Env),
	)
	if err != nil {
		return nil, ledger.Event{}, err
	}
	if terminal.Type == MerchantTerminal {
		return nil, ledger.Event{}, ledger.Refuse(op, ledger.Conflict, "a terminal of type merchant moves no money")
	}
	s := &Settlement{
		ID: id, Org: terminal.Org, Partner: terminal.Partner, Terminal: terminal.ID, Reference: draft.Reference,
		Lines: []SettlementLine{{asset, draft.Amount}}, Fee: fee,
	}
	return s, s.bookingEvent(
		ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: net},
		ledger.Posting{Account: ledger.ProviderFees, Asset: asset, Side: ledger.Debit, Amount: fee},
		ledger.Posting{Account: ledger.ProviderReceivable(terminal.ID), Asset: asset, Side: ledger.Credit, Amount: draft.Amount},
	), nil
}

// bookingEvent returns the event that books the postings. It omits postings of zero.
func (s *Settlement) bookingEvent(postings ...ledger.Posting) ledger.Event {
	event := createdEvent(ledger.Settlement, s.ID, StateSettled)
	isZero := func(p ledger.Posting) bool { return p.Amount.IsZero() }
	event.Entry = &ledger.Entry{Phase: ledger.Posted, Postings: slices.DeleteFunc(postings, isZero)}
	assert.NoError(event.Entry.Check())
	return event
}

// Funds returns guards that refuse the settlement if it pays out more than the partner's available balance and overdraft.
func (s *Settlement) Funds(owner *Partner) (guards []ledger.FundsGuard) {
	if !s.Outgoing {
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

// Claim returns the settlement's claim (a unique key) on its reference, so that no other settlement can have the same
// reference.
func (s *Settlement) Claim() ledger.Claim {
	return ledger.Claim{Org: s.Org, Kind: ledger.ClaimSettlement, Key: s.Key(), Owner: s.ID[:]}
}

// OpeningReference is the reference of the opening balances of the sandbox's partners.
const OpeningReference = "sandbox-opening-balance"

// openingMajorUnits is the opening balance in each asset, in major units.
var openingMajorUnits = money.FromUint64(1_000_000)

// NewOpening returns the settlement that gives a sandbox partner 1,000,000 major units of each asset, and the events that
// book it. These are the assets that a transaction can name and that have a scale. Each environment has its own event,
// because no entry may mix environments.
func NewOpening(id ledger.ID, owner *Partner) (*Settlement, []ledger.Event, error) {
	s := &Settlement{ID: id, Org: owner.Org, Partner: owner.Number, Reference: OpeningReference}
	var events []ledger.Event
	for _, env := range []money.Env{money.Prod, money.Test} {
		entry := &ledger.Entry{Phase: ledger.Posted}
		for _, asset := range money.AcceptedAssets(env) {
			amount, err := openingAmount(asset)
			if err != nil {
				return nil, nil, err
			}
			s.Lines = append(s.Lines, SettlementLine{Asset: asset, Amount: amount})
			entry.Postings = append(entry.Postings,
				ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: amount},
				ledger.Posting{Account: ledger.PartnerAvailable(owner.Number), Asset: asset, Side: ledger.Credit, Amount: amount})
		}
		if err := entry.Check(); err != nil {
			return nil, nil, err
		}
		event := movedEvent(ledger.Settlement, id, Settle, StateSettled, StateSettled)
		if len(events) == 0 {
			event = createdEvent(ledger.Settlement, id, StateSettled)
		}
		event.Entry = entry
		events = append(events, event)
	}
	return s, events, nil
}

func openingAmount(asset money.Asset) (money.Amount, error) {
	digits, _ := asset.Scale()
	amount := openingMajorUnits
	for range digits {
		var err error
		if amount, err = amount.Mul(money.FromUint64(10)); err != nil {
			return money.Amount{}, err
		}
	}
	return amount, nil
}
