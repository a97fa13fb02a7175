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

// Settlement is a payment between the institution's bank account and a partner's bank, or between that account and the
// provider of a terminal. A settlement does not belong to a transaction.
type Settlement struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64     // the partner that is paid or pays, or that owns Terminal
	Terminal  ledger.ID // the terminal whose provider paid; zero for a settlement with the partner's bank
	Reference string    // the reference that the bank or provider gave; unique per partner or per terminal
	Outgoing  bool      // the money goes to the partner's bank; if false, it comes from there or from the provider
	Lines     []SettlementLine
	Fee       money.Amount // the part of the amount that the provider kept; if not zero, there is only one line
	CreatedAt ledger.Micros
	Seq       uint64 // journal number of the first event; kept beside the stored form, like CreatedAt
}

// SettlementLine is the amount of a settlement in one asset. In a settlement with a provider, the provider's fee is not
// deducted from the amount.
type SettlementLine struct {
	Asset  money.Asset
	Amount money.Amount
}

// Settlements are the columns of settlements. For a settlement with a partner's bank, responses show a direction and an
// amount. For a settlement with a provider, responses show gross, fee and net. The opening balance of the sandbox is a
// settlement with one line for each asset.
var Settlements = schema.NewType[Settlement]("settlement",
	columns.IDColumn(func(s *Settlement) *ledger.ID { return &s.ID }),
	columns.PartnerColumn(1, func(s *Settlement) *int64 { return &s.Partner }, schema.Required, schema.Fixed),
	schema.Field(schema.ID(2, "terminal_id", schema.Fixed, schema.Sparse,
		schema.Help("the terminal whose provider settled")), func(s *Settlement) *ledger.ID { return &s.Terminal }),
	settlementAmount("gross", "amount that the provider settled, including its fee", func(s *Settlement) (money.Amount, bool) { return s.firstAmount(), s.WithProvider() }),
	settlementAmount("fee", "fee that the provider kept", func(s *Settlement) (money.Amount, bool) { return s.Fee, s.WithProvider() }),
	settlementAmount("net", "amount that arrived: `gross` minus `fee`", func(s *Settlement) (money.Amount, bool) { return s.net(), s.WithProvider() }),
	schema.ComputedField(schema.Word(0, "direction", []string{Inward, Outward}, schema.Sparse, schema.ReadOnlyFixed,
		schema.Help("`in`: the money came from the partner's bank; `out`: it went to that bank")), func(s *Settlement) (string, bool) { return s.direction(), !s.WithProvider() }),
	settlementAmount("amount", "amount in minor units", func(s *Settlement) (money.Amount, bool) {
		return s.firstAmount(), !s.WithProvider() && len(s.Lines) == 1
	}),
	schema.ComputedField(schema.Entries(0, "lines", settlementLines, schema.Sparse, schema.ReadOnlyFixed,
		schema.Help("the amounts, if the settlement has several assets")), func(s *Settlement) ([]SettlementLine, bool) { return s.Lines, len(s.Lines) > 1 }),
	settlementText("currency", "currency code", func(a money.Asset) string { return string(a.Currency) }),
	settlementText("network", "network of the currency", func(a money.Asset) string { return string(a.Network) }),
	settlementText("env", "environment", func(a money.Asset) string { return a.Env.String() }),
	schema.Field(schema.Text(3, "reference", schema.Required, schema.Fixed,
		schema.Help("the bank's or provider's reference")), func(s *Settlement) *string { return &s.Reference }),
	columns.CreatedColumn(func(s *Settlement) *ledger.Micros { return &s.CreatedAt }),
	schema.NumberField(schema.Seq(0, "seq", schema.NotNull, schema.Transient, schema.ReadOnlyFixed,
		schema.Help("number of the settlement's first entry in the journal")), func(s *Settlement) *uint64 { return &s.Seq }),
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
}).WithRowMetadata(func(s *Settlement, metadata schema.RowMetadata) {
	s.Org, s.ID, s.CreatedAt, s.Seq = metadata.Org, metadata.ID, metadata.CreatedAt, metadata.Seq
})

var settlementLines = schema.NewType[SettlementLine]("line",
	schema.Field(schema.Amount(1, "amount", schema.RequiredInStore, schema.Help("amount in minor units")), func(l *SettlementLine) *money.Amount { return &l.Amount }),
	columns.CurrencyColumn(2, func(l *SettlementLine) *money.Asset { return &l.Asset }, schema.RequiredInStore),
	columns.NetworkColumn(3, func(l *SettlementLine) *money.Asset { return &l.Asset }),
	columns.AssetEnvColumn(4, func(l *SettlementLine) *money.Asset { return &l.Asset }),
)

// settlementAmount returns a column with an amount. Only settlements for which the function amount returns true show the
// column.
func settlementAmount(name, help string, amount func(*Settlement) (money.Amount, bool)) *schema.Column {
	return schema.ComputedField(schema.Amount(0, name, schema.Sparse, schema.ReadOnlyFixed, schema.Help(help)), amount)
}

// settlementText returns a column with one part of a settlement's asset, such as the currency. Settlements in several
// assets do not show the column.
func settlementText(name, help string, partOf func(money.Asset) string) *schema.Column {
	return schema.ComputedField(schema.Text(0, name, schema.Sparse, schema.ReadOnlyFixed, schema.Help(help)),
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
	net, _ := s.firstAmount().Sub(s.Fee) // the fee is never above the gross amount
	return net
}

// LogValue implements slog.LogValuer.
func (s *Settlement) LogValue() slog.Value { return slog.StringValue(s.ID.String()) }

// SettlementLists declares the lists of settlements. Each list exists once for each partner and environment. A settlement
// is in at most one list. A settlement in several assets, such as the sandbox's opening balance, is in none.
var SettlementLists = ledger.NewPartnerLists(ledger.Settlement, func(s *Settlement) (partner int64, env money.Env) { return s.Partner, s.Lines[0].Asset.Env })

// The lists of settlements.
var (
	SettlementsWithBank     = SettlementLists.Declare(1, func(s *Settlement) bool { return len(s.Lines) == 1 && !s.WithProvider() })
	SettlementsWithProvider = SettlementLists.Declare(2, func(s *Settlement) bool { return len(s.Lines) == 1 && s.WithProvider() })
)

// WithProvider tells whether the settlement is with a provider. Otherwise it is with a partner's bank.
func (s *Settlement) WithProvider() bool { return s.Terminal != ledger.ID{} }

// Same tells whether the other settlement moved the same money with the same reference. If so, a client has repeated a
// request.
func (s *Settlement) Same(other *Settlement) bool {
	return s.Org == other.Org && s.Partner == other.Partner && s.Terminal == other.Terminal && s.Reference == other.Reference &&
		s.Outgoing == other.Outgoing && s.Fee == other.Fee && slices.Equal(s.Lines, other.Lines)
}

// Key returns the key of the settlement's claim. The claim ensures that a reference is used only once.
func (s *Settlement) Key() string {
	if s.WithProvider() {
		return "terminal/" + s.Terminal.String() + "/" + s.Reference
	}
	return SettlementKey(s.Partner, s.Reference)
}

// SettlementKey returns the key of the claim for a reference of the partner's bank.
func SettlementKey(partner int64, reference string) string {
	return "partner/" + strconv.FormatInt(partner, 10) + "/" + reference
}

// SettlementDraft is a request for a settlement.
type SettlementDraft struct {
	Currency money.Currency

	// Network is the network in the request, or nil if the request names none. It is required if the currency is on several
	// networks. An empty network means that the network of the money was never known.
	Network *money.Network

	Env       money.Env
	Amount    money.Amount // in minor units; in a settlement with a provider, the fee is not deducted
	Reference string       // 1 to MaxText characters
}

// check checks the draft and returns the draft's asset. amountField is the name of the field in the request that contains
// the amount.
func (draft *SettlementDraft) check(op, amountField string) (money.Asset, error) {
	asset, err := draft.asset(op)
	return asset, Join(
		check(!draft.Amount.IsZero(), op, amountField, "must be above zero"),
		check(!ledger.MaxAmount.Less(draft.Amount), op, amountField, "is out of range"),
		err,
		checkText(op, "reference", draft.Reference),
	)
}

// asset returns the asset of the draft's amount. If the currency has no networks, such as a national currency, the asset
// has none. Otherwise the asset has the network of the request. If the request names none, the asset has the currency's
// only network.
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
		check(draft.Env.IsValid(), op, "env", "must be prod or test"),
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

// NewSettlement returns a new settlement with the partner's bank, outgoing or incoming, and the event that books it.
// Incoming money first pays the partner's debt. When the event is booked, Claim ensures that the reference is free, and
// Funds ensures that an outgoing payment is covered. If the draft is invalid, the error names all wrong fields.
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
	available.SplitWith = ledger.PartnerReceivable(owner.Number)
	return s, s.bookingEvent(bank, available), nil
}

// NewProviderSettlement returns a new settlement with the provider of a terminal, and the event that books it. The draft's
// amount is the part of the provider's debt that is settled: the provider keeps the fee and pays the rest. When the event
// is booked, Claim ensures that the reference is free. If the draft is invalid, the error names all wrong fields. If the
// terminal is of type merchant, the error has the code Conflict.
func NewProviderSettlement(id ledger.ID, terminal *Terminal, fee money.Amount, draft SettlementDraft) (*Settlement, ledger.Event, error) {
	const op = "directory.SettleProvider"
	asset, err := draft.check(op, "gross")
	net, feeErr := draft.Amount.Sub(fee)
	err = Join(
		check(feeErr == nil || draft.Amount.IsZero(), op, "fee", "is above gross"),
		err,
		check(draft.Env == terminal.Env || !draft.Env.IsValid(), op, "env", "must be the terminal's: %v", terminal.Env),
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

// bookingEvent returns the event that books the postings. It omits postings whose amount is zero.
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

// Counters returns guards that refuse the settlement if a total of one of its assets would go out of range.
func (s *Settlement) Counters() (guards []ledger.CounterGuard) {
	for _, line := range s.Lines {
		guards = append(guards, ledger.ReserveHeadroom(s.Org, line.Asset, line.Amount))
	}
	return guards
}

// Claim returns the claim (a unique key) that prevents another settlement with the same reference.
func (s *Settlement) Claim() ledger.Claim {
	return ledger.Claim{Org: s.Org, Kind: ledger.ClaimSettlement, Key: s.Key(), Owner: s.ID[:]}
}

// OpeningBalanceReference is the reference of the settlements that give the sandbox's partners an opening balance.
const OpeningBalanceReference = "sandbox-opening-balance"

// openingMajorUnits is the opening balance in every asset, in major units.
var openingMajorUnits = money.FromUint64(1_000_000)

// NewOpeningBalance returns the settlement that gives a sandbox partner 1,000,000 major units of every accepted asset that
// has a scale (number of decimals). It also returns the events that book the settlement: one for each environment, because
// an entry must not mix environments.
func NewOpeningBalance(id ledger.ID, owner *Partner) (*Settlement, []ledger.Event, error) {
	s := &Settlement{ID: id, Org: owner.Org, Partner: owner.Number, Reference: OpeningBalanceReference}
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
		event := laterEvent(ledger.Settlement, id, Settle, StateSettled, StateSettled)
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
