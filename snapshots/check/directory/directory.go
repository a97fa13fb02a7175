package directory

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 3, records of the directory. Each record is in the state to which its events led. The
// rule collects the keys that records must have claimed; rule 4 compares them with the claims.

// Row is the stored form of the directory's records: a version byte and a msgpack map, whose
// names never change their meaning. Fields that a kind does not have are zero.
type Row struct {
	Status         string     `msgpack:"status"`
	Active         bool       `msgpack:"active"`
	Number         int64      `msgpack:"number"`
	Login          string     `msgpack:"login"`
	Overdraft      []MoneyRow `msgpack:"overdraft"`
	ProviderParams []byte     `msgpack:"provider_params"`
	Hash           []byte     `msgpack:"hash"`
	Revoked        int64      `msgpack:"revoked"`
	Partner        int64      `msgpack:"partner"`
	Reference      string     `msgpack:"reference"`
	Out            bool       `msgpack:"out"`
	Lines          []MoneyRow `msgpack:"lines"`
	Terminal       []byte     `msgpack:"terminal"`
	Fee            []byte     `msgpack:"fee"`
	Env            string     `msgpack:"env"`
	From           string     `msgpack:"from"`
	To             string     `msgpack:"to"`
	Rate           string     `msgpack:"rate"`
	Type           string     `msgpack:"type"`
	MerchantParams []byte     `msgpack:"merchant_params"`
	NotifyURL      string     `msgpack:"notify_url"`
}

// MoneyRow is an amount of an asset in package money's binary forms.
type MoneyRow struct {
	Asset  []byte `msgpack:"asset"`
	Amount []byte `msgpack:"amount"`
}

var errForm = errors.New("unknown form")

// DecodeRow reads a stored record of the directory.
func DecodeRow(payload []byte) (*Row, error) {
	if len(payload) == 0 || payload[0] != 1 || !packed.WellFormed(payload[1:]) {
		return nil, errForm
	}
	row := new(Row)
	return row, msgpack.NewDecoder(bytes.NewReader(payload[1:])).Decode(row)
}

// Read decodes the asset and the amount.
func (m *MoneyRow) Read() (money.Asset, money.Amount, error) {
	asset, rest, err := money.ReadAsset(m.Asset)
	if err != nil || len(rest) != 0 {
		return asset, money.Amount{}, errForm
	}
	amount, rest, err := money.ReadAmount(m.Amount)
	if err != nil || len(rest) != 0 {
		return asset, amount, errForm
	}
	return asset, amount, nil
}

// Check compares the directory's records with their events.
type Check struct {
	*scan.Scan
	*Facts
	limitNames          []limitNames // the limits with the records that they name
	users               []userNames  // the users and sessions with the records that they name
	providerSettlements []providerSettlement
}

// New begins a check of the directory's records.
func New(s *scan.Scan) *Check {
	return &Check{Scan: s, Facts: newFacts()}
}

// Facts is what other rules need to know of partners, terminals, limits and rates.
type Facts struct {
	partners  map[PartnerKey]*Partner
	terminals map[scan.Place]*Terminal
	merchants map[PartnerKey][]MerchantTerminal // by partner
	Owners    map[scan.Place]int64              // place of the partner's record → number
	Limits    map[PartnerKey][]*Limit           // by partner
	Rates     map[scan.Place]*Rate
	Numbers   map[int64]ledger.ID  // number → id of the partner's record
	Claimed   map[string]ledger.ID // number → id of the partner that claimed it
	Made      map[Made]bool        // the records that the answer to a creation may name
}

// PartnerKey is a partner's number in an organization.
type PartnerKey struct {
	Org    ledger.ID
	Number int64
}

// Partner holds the facts about a partner that other rules use.
type Partner struct {
	Setting
	Overdraft map[money.Asset]money.Amount
	notified  bool // an address is set
}

// Terminal holds the facts about a terminal that other rules use.
type Terminal struct {
	Setting
	Partner  int64
	Env      string
	Settings directory.Settings
	notified bool // the terminal has an address of its own
	chooses  bool // it selects the statuses of which it notifies
}

// Rate is a stored exchange rate.
type Rate struct {
	Setting
	Value string
}

// Setting holds when a record of the directory was last written.
type Setting struct {
	Changed bool // written again after its creation
	Updated ledger.Micros
}

func settingOf(r *scan.Record) Setting { return Setting{r.Stamp.Version > 1, r.Stamp.Updated} }

// ChangedSince tells whether the record may have been different when the transaction was
// decided.
func (s *Setting) ChangedSince(transaction *scan.Record) bool {
	return s.Changed && transaction.Stamp.Started < s.Updated+scan.InFlight
}

// Made identifies a record of the directory as an answer does.
type Made struct {
	Kind ledger.Kind
	Org  ledger.ID // for an organization's record: the organization's own id
	Name string    // id, or a partner's number
}

func newFacts() *Facts {
	return &Facts{
		partners: make(map[PartnerKey]*Partner), terminals: make(map[scan.Place]*Terminal), Rates: make(map[scan.Place]*Rate),
		Limits: make(map[PartnerKey][]*Limit), merchants: make(map[PartnerKey][]MerchantTerminal), Owners: make(map[scan.Place]int64),
		Numbers: make(map[int64]ledger.ID), Claimed: make(map[string]ledger.ID), Made: make(map[Made]bool),
	}
}

// Partner returns a partner by its number; nil if it does not exist.
func (d *Facts) Partner(org ledger.ID, number int64) *Partner {
	return d.partners[PartnerKey{org, number}]
}

// Terminal returns a terminal by its id; nil if it does not exist.
func (d *Facts) Terminal(org, id ledger.ID) *Terminal {
	return d.terminals[scan.Place{Org: org, ID: id}]
}

// CheckRow compares a record of the directory with its history and records the keys that it
// must have claimed. It returns the name by which answers identify the record.
func (c *Check) CheckRow(r *scan.Record, row *Row) (name string) {
	name = r.Source.ID.String()
	onOff := string(directory.StateInactive)
	if row.Active {
		onOff = string(directory.StateActive)
	}
	switch r.Source.Kind {
	case ledger.Organization:
		c.CheckState(r, row.Status)
	case ledger.Platform:
		c.CheckState(r, string(directory.StateOpen))
		c.checkTokens(r)
	case ledger.User:
		c.CheckState(r, onOff)
		c.expectClaim(r, ledger.ClaimLogin, row.Login)
		c.checkUser(r)
	case ledger.Partner:
		c.CheckState(r, onOff)
		c.checkPartner(r, row)
		name = strconv.FormatInt(row.Number, 10)
	case ledger.Terminal:
		c.CheckState(r, onOff)
		c.checkTerminal(r, row)
	case ledger.APIKey, ledger.Session:
		state := string(directory.StateActive)
		if row.Revoked != 0 {
			state = string(directory.StateRevoked)
		}
		c.CheckState(r, state)
		c.expectClaim(r, ledger.ClaimKeyHash, hex.EncodeToString(row.Hash))
		if r.Source.Kind == ledger.Session {
			c.checkUser(r)
		}
	case ledger.Settlement:
		c.CheckState(r, string(directory.StateSettled))
		c.checkSettlement(r, row)
	case ledger.Rate:
		c.checkRate(r, row)
	case ledger.Limit:
		c.CheckState(r, onOff)
		c.checkLimit(r, row)
	case ledger.Block:
		c.CheckState(r, onOff)
		c.checkBlock(r)
	case ledger.Answer:
		c.CheckState(r, string(directory.StateGiven))
	default:
		c.Fault(r, "is of a kind that no machine knows")
	}
	c.Facts.Made[Made{r.Source.Kind, r.Organization.ID, name}] = true
	return name
}

// expectClaim records a key that a record must have claimed in its organization.
func (c *Check) expectClaim(r *scan.Record, kind ledger.ClaimKind, key string) {
	r.History.ClaimKind, r.History.ClaimHash = kind, r.Organization.Histories.Hash(byte(kind), key)
}

func (c *Check) checkPartner(r *scan.Record, row *Row) {
	c.expectClaim(r, ledger.ClaimLogin, row.Login)
	if other, twice := c.Facts.Numbers[row.Number]; twice {
		c.Report.Breach(findings.RuleClaims, "partners %v and %v have one number", other, r.Source.ID)
	}
	c.Facts.Numbers[row.Number] = r.Source.ID
	c.Facts.Owners[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = row.Number
	p := &Partner{Setting: settingOf(r), Overdraft: make(map[money.Asset]money.Amount), notified: row.NotifyURL != ""}
	for i := range row.Overdraft {
		asset, amount, err := row.Overdraft[i].Read()
		if err != nil {
			c.Fault(r, "has an overdraft that can't be read")
		}
		p.Overdraft[asset] = amount
	}
	c.Facts.partners[PartnerKey{Org: r.Organization.ID, Number: row.Number}] = p
}

func (c *Check) checkTerminal(r *scan.Record, row *Row) {
	settings, err := directory.ParseSettings(row.ProviderParams)
	if err != nil {
		c.Fault(r, "has settings that can't be read")
		return
	}
	t := &Terminal{Setting: settingOf(r), Partner: row.Partner, Env: row.Env, Settings: settings}
	c.Facts.terminals[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = t
	c.noteAddress(r, row, t)
}

// checkRate compares a rate with its last event, and its id with its currency pair, because a
// pair has one rate.
func (c *Check) checkRate(r *scan.Record, row *Row) {
	if !r.Organization.Histories.IsIn(r.History, ledger.Rate, row.Rate) {
		c.Fault(r, "has another value than its events lead to")
	}
	if r.Source.ID != directory.RateID(r.Organization.ID, money.Currency(row.From), money.Currency(row.To)) {
		c.Fault(r, "lies in another pair's place")
	}
	c.Facts.Rates[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = &Rate{settingOf(r), row.Rate}
}
