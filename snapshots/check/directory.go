package check

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
)

// directoryRow is what the checker reads of the directory's stored forms: a
// version byte and a msgpack map, whose names never change their meaning. What
// a kind does not have stays zero.
type directoryRow struct {
	Status         string     `msgpack:"status"`
	Active         bool       `msgpack:"active"`
	Number         int64      `msgpack:"number"`
	Login          string     `msgpack:"login"`
	Overdraft      []moneyRow `msgpack:"overdraft"`
	ProviderParams []byte     `msgpack:"provider_params"`
	Hash           []byte     `msgpack:"hash"`
	Revoked        int64      `msgpack:"revoked"`
	Partner        int64      `msgpack:"partner"`
	Reference      string     `msgpack:"reference"`
	Out            bool       `msgpack:"out"`
	Lines          []moneyRow `msgpack:"lines"`
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

// moneyRow is an amount of an asset in package money's binary forms.
type moneyRow struct {
	Asset  []byte `msgpack:"asset"`
	Amount []byte `msgpack:"amount"`
}

var errForm = errors.New("unknown form")

func decodeDirectoryRow(payload []byte) (*directoryRow, error) {
	if len(payload) == 0 || payload[0] != 1 || !packed.WellFormed(payload[1:]) {
		return nil, errForm
	}
	row := new(directoryRow)
	return row, msgpack.NewDecoder(bytes.NewReader(payload[1:])).Decode(row)
}

func (m *moneyRow) read() (money.Asset, money.Amount, error) {
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

// directoryCheck compares the directory's records with their events.
type directoryCheck struct {
	*scan
	*directory
	bounds  []bound  // limits, for what they name
	people  []naming // users and sessions, for whom they name
	settled []settledWith
}

func newDirectoryCheck(s *scan) *directoryCheck {
	return &directoryCheck{scan: s, directory: newDirectory()}
}

// directory is what other checks need to know of partners and terminals.
type directory struct {
	partners  map[numbered]*partner
	terminals map[placed]*terminal
	merchants map[numbered][]merchantTerminal // by partner
	owners    map[placed]int64                // partner's record → number
	limits    map[numbered][]*limit           // by partner
	rates     map[placed]*rate
	numbers   map[int64]ledger.ID  // number → partner's record
	claimed   map[string]ledger.ID // number → who claimed it
	made      map[made]bool        // what an acknowledged creation may name
}

type numbered struct {
	org    ledger.ID
	number int64
}

type partner struct {
	setting
	overdraft map[money.Asset]money.Amount
	notified  bool // an address is set
}

type terminal struct {
	setting
	partner  int64
	env      string
	settings words.Settings
	notified bool // an address of its own is set
	chooses  bool // the statuses that it notifies of
}

type rate struct {
	setting
	value string
}

// setting tells when a record of the directory was last written.
type setting struct {
	changed bool // after its creation
	updated ledger.Micros
}

func settingOf(r *record) setting { return setting{r.stamp.Version > 1, r.stamp.Updated} }

// changedSince tells whether what a transaction was decided by may have been
// something else.
func (s *setting) changedSince(transaction *record) bool {
	return s.changed && transaction.stamp.Started < s.updated+inFlight
}

// made is a thing of the directory as an answer names it.
type made struct {
	kind ledger.Kind
	org  ledger.ID // its own for an organization
	name string    // id, or a partner's number
}

func newDirectory() *directory {
	return &directory{
		partners: make(map[numbered]*partner), terminals: make(map[placed]*terminal), rates: make(map[placed]*rate),
		limits: make(map[numbered][]*limit), merchants: make(map[numbered][]merchantTerminal), owners: make(map[placed]int64),
		numbers: make(map[int64]ledger.ID), claimed: make(map[string]ledger.ID), made: make(map[made]bool),
	}
}

func (d *directory) partner(org ledger.ID, number int64) *partner {
	return d.partners[numbered{org, number}]
}

func (d *directory) terminal(org, id ledger.ID) *terminal { return d.terminals[placed{org, id}] }

// checkDirectoryRow compares a record of the directory with its history and
// notes the keys that it must have claimed.
func (c *directoryCheck) checkDirectoryRow(r *record, row *directoryRow) (name string) {
	name = r.source.ID.String()
	onOff := string(words.StateInactive)
	if row.Active {
		onOff = string(words.StateActive)
	}
	switch r.source.Kind {
	case ledger.Organization:
		c.checkState(r, row.Status)
	case ledger.Platform:
		c.checkState(r, string(words.StateOpen))
		c.checkTokens(r)
	case ledger.User:
		c.checkState(r, onOff)
		c.keyed(r, ledger.ClaimLogin, row.Login)
		c.checkPerson(r)
	case ledger.Partner:
		c.checkState(r, onOff)
		c.checkPartner(r, row)
		name = strconv.FormatInt(row.Number, 10)
	case ledger.Terminal:
		c.checkState(r, onOff)
		c.checkTerminal(r, row)
	case ledger.APIKey, ledger.Session:
		state := string(words.StateActive)
		if row.Revoked != 0 {
			state = string(words.StateRevoked)
		}
		c.checkState(r, state)
		c.keyed(r, ledger.ClaimKeyHash, hex.EncodeToString(row.Hash))
		if r.source.Kind == ledger.Session {
			c.checkPerson(r)
		}
	case ledger.Settlement:
		c.checkState(r, string(words.StateSettled))
		c.checkSettlement(r, row)
	case ledger.Rate:
		c.checkRate(r, row)
	case ledger.Limit:
		c.checkState(r, onOff)
		c.checkLimit(r, row)
	case ledger.Block:
		c.checkState(r, onOff)
		c.checkBlock(r)
	case ledger.Answer:
		c.checkState(r, string(words.StateGiven))
	default:
		c.faulty(r, "is of a kind that no machine knows")
	}
	c.directory.made[made{r.source.Kind, r.organization.id, name}] = true
	return name
}

// keyed notes the key that a record must have claimed in its organization.
func (c *directoryCheck) keyed(r *record, kind ledger.ClaimKind, key string) {
	r.history.claims, r.history.claim = kind, r.organization.histories.hash(byte(kind), key)
}

func (c *directoryCheck) checkPartner(r *record, row *directoryRow) {
	c.keyed(r, ledger.ClaimLogin, row.Login)
	if other, twice := c.directory.numbers[row.Number]; twice {
		c.report.breach(ruleClaims, "partners %v and %v have one number", other, r.source.ID)
	}
	c.directory.numbers[row.Number] = r.source.ID
	c.directory.owners[placed{r.organization.id, r.source.ID}] = row.Number
	p := &partner{setting: settingOf(r), overdraft: make(map[money.Asset]money.Amount), notified: row.NotifyURL != ""}
	for i := range row.Overdraft {
		asset, amount, err := row.Overdraft[i].read()
		if err != nil {
			c.faulty(r, "has an overdraft that can't be read")
		}
		p.overdraft[asset] = amount
	}
	c.directory.partners[numbered{r.organization.id, row.Number}] = p
}

func (c *directoryCheck) checkTerminal(r *record, row *directoryRow) {
	settings, err := words.ParseSettings(row.ProviderParams)
	if err != nil {
		c.faulty(r, "has settings that can't be read")
		return
	}
	t := &terminal{setting: settingOf(r), partner: row.Partner, env: row.Env, settings: settings}
	c.directory.terminals[placed{r.organization.id, r.source.ID}] = t
	c.addressed(r, row, t)
}

// checkRate compares a rate with its last event, and its pair with its id, which
// is what makes it the pair's only one.
func (c *directoryCheck) checkRate(r *record, row *directoryRow) {
	if !r.organization.histories.in(r.history, ledger.Rate, row.Rate) {
		c.faulty(r, "has another value than its events lead to")
	}
	if r.source.ID != words.RateID(r.organization.id, money.Currency(row.From), money.Currency(row.To)) {
		c.faulty(r, "lies in another pair's place")
	}
	c.directory.rates[placed{r.organization.id, r.source.ID}] = &rate{settingOf(r), row.Rate}
}
