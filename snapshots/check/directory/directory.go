package directory

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/packed"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 3, records of the directory. Each record is in the state that its events lead to. It
// names the keys that it must have claimed, which rule 4 compares with the claims.

// Row is what the checker reads of the directory's stored forms: a
// version byte and a msgpack map, whose names never change their meaning. What
// a kind does not have stays zero.
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

func DecodeRow(payload []byte) (*Row, error) {
	if len(payload) == 0 || payload[0] != 1 || !packed.WellFormed(payload[1:]) {
		return nil, errForm
	}
	row := new(Row)
	return row, msgpack.NewDecoder(bytes.NewReader(payload[1:])).Decode(row)
}

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
	limitNames []limitNames // limits, for what they name
	users      []userNames  // users and sessions, for whom they name
	settled    []settledWith
}

func New(s *scan.Scan) *Check {
	return &Check{Scan: s, Facts: newFacts()}
}

// Facts is what other checks need to know of partners and terminals.
type Facts struct {
	partners  map[PartnerKey]*partner
	terminals map[scan.Place]*terminal
	merchants map[PartnerKey][]MerchantTerminal // by partner
	Owners    map[scan.Place]int64              // partner's record → number
	Limits    map[PartnerKey][]*Limit           // by partner
	Rates     map[scan.Place]*rate
	Numbers   map[int64]ledger.ID  // number → partner's record
	Claimed   map[string]ledger.ID // number → who claimed it
	Made      map[Made]bool        // what an acknowledged creation may name
}

type PartnerKey struct {
	Org    ledger.ID
	Number int64
}

type partner struct {
	setting
	Overdraft map[money.Asset]money.Amount
	notified  bool // an address is set
}

type terminal struct {
	setting
	Partner  int64
	Env      string
	Settings words.Settings
	notified bool // an address of its own is set
	chooses  bool // the statuses that it notifies of
}

type rate struct {
	setting
	Value string
}

// setting tells when a record of the directory was last written.
type setting struct {
	Changed bool // after its creation
	Updated ledger.Micros
}

func settingOf(r *scan.Record) setting { return setting{r.Stamp.Version > 1, r.Stamp.Updated} }

// ChangedSince tells whether what a transaction was decided by may have been
// something else.
func (s *setting) ChangedSince(transaction *scan.Record) bool {
	return s.Changed && transaction.Stamp.Started < s.Updated+scan.InFlight
}

// Made is a thing of the directory as an answer names it.
type Made struct {
	Kind ledger.Kind
	Org  ledger.ID // its own for an organization
	Name string    // id, or a partner's number
}

func newFacts() *Facts {
	return &Facts{
		partners: make(map[PartnerKey]*partner), terminals: make(map[scan.Place]*terminal), Rates: make(map[scan.Place]*rate),
		Limits: make(map[PartnerKey][]*Limit), merchants: make(map[PartnerKey][]MerchantTerminal), Owners: make(map[scan.Place]int64),
		Numbers: make(map[int64]ledger.ID), Claimed: make(map[string]ledger.ID), Made: make(map[Made]bool),
	}
}

func (d *Facts) Partner(org ledger.ID, number int64) *partner {
	return d.partners[PartnerKey{org, number}]
}

func (d *Facts) Terminal(org, id ledger.ID) *terminal {
	return d.terminals[scan.Place{Org: org, ID: id}]
}

// CheckRow compares a record of the directory with its history and
// notes the keys that it must have claimed.
func (c *Check) CheckRow(r *scan.Record, row *Row) (name string) {
	name = r.Source.ID.String()
	onOff := string(words.StateInactive)
	if row.Active {
		onOff = string(words.StateActive)
	}
	switch r.Source.Kind {
	case ledger.Organization:
		c.CheckState(r, row.Status)
	case ledger.Platform:
		c.CheckState(r, string(words.StateOpen))
		c.checkTokens(r)
	case ledger.User:
		c.CheckState(r, onOff)
		c.keyed(r, ledger.ClaimLogin, row.Login)
		c.checkPerson(r)
	case ledger.Partner:
		c.CheckState(r, onOff)
		c.checkPartner(r, row)
		name = strconv.FormatInt(row.Number, 10)
	case ledger.Terminal:
		c.CheckState(r, onOff)
		c.checkTerminal(r, row)
	case ledger.APIKey, ledger.Session:
		state := string(words.StateActive)
		if row.Revoked != 0 {
			state = string(words.StateRevoked)
		}
		c.CheckState(r, state)
		c.keyed(r, ledger.ClaimKeyHash, hex.EncodeToString(row.Hash))
		if r.Source.Kind == ledger.Session {
			c.checkPerson(r)
		}
	case ledger.Settlement:
		c.CheckState(r, string(words.StateSettled))
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
		c.CheckState(r, string(words.StateGiven))
	default:
		c.Fault(r, "is of a kind that no machine knows")
	}
	c.Facts.Made[Made{r.Source.Kind, r.Organization.ID, name}] = true
	return name
}

// keyed notes the key that a record must have claimed in its organization.
func (c *Check) keyed(r *scan.Record, kind ledger.ClaimKind, key string) {
	r.History.ClaimKind, r.History.ClaimHash = kind, r.Organization.Histories.Hash(byte(kind), key)
}

func (c *Check) checkPartner(r *scan.Record, row *Row) {
	c.keyed(r, ledger.ClaimLogin, row.Login)
	if other, twice := c.Facts.Numbers[row.Number]; twice {
		c.Report.Breach(findings.RuleClaims, "partners %v and %v have one number", other, r.Source.ID)
	}
	c.Facts.Numbers[row.Number] = r.Source.ID
	c.Facts.Owners[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = row.Number
	p := &partner{setting: settingOf(r), Overdraft: make(map[money.Asset]money.Amount), notified: row.NotifyURL != ""}
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
	settings, err := words.ParseSettings(row.ProviderParams)
	if err != nil {
		c.Fault(r, "has settings that can't be read")
		return
	}
	t := &terminal{setting: settingOf(r), Partner: row.Partner, Env: row.Env, Settings: settings}
	c.Facts.terminals[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = t
	c.addressed(r, row, t)
}

// checkRate compares a rate with its last event, and its pair with its id, which
// is what makes it the pair's only one.
func (c *Check) checkRate(r *scan.Record, row *Row) {
	if !r.Organization.Histories.IsIn(r.History, ledger.Rate, row.Rate) {
		c.Fault(r, "has another value than its events lead to")
	}
	if r.Source.ID != words.RateID(r.Organization.ID, money.Currency(row.From), money.Currency(row.To)) {
		c.Fault(r, "lies in another pair's place")
	}
	c.Facts.Rates[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}] = &rate{settingOf(r), row.Rate}
}
