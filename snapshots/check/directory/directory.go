package directory

import (
	"encoding/hex"
	"errors"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks the records of the directory. Each record must be in
// the state to which its events led. This file also collects the unique keys of the records. Rule 4 checks that there
// is a claim for each unique key. A claim is a stored row that makes a key unique.

// Read decodes a stored record of the directory, without its secrets. It returns a pointer to a record type of package
// ledger/directory or ledger/storefront.
func Read(r *scan.Record) (record any, err error) {
	records := TypeOf(r.Source.Kind)
	if records == nil {
		return nil, errKind
	}
	return records.ReadRecord(schema.RowMetadata{
		Org: r.Organization.ID, ID: r.Source.ID, CreatedAt: r.Header.StartedAt, UpdatedAt: r.Header.UpdatedAt, Seq: r.Header.SettledSeq,
	}, r.Payload, schema.NoKeys)
}

// TypeOf returns the table of columns for records of a kind. It returns nil if the kind has no table of columns.
func TypeOf(kind ledger.Kind) schema.AnyType {
	if records, known := directory.Types[kind]; known {
		return records
	}
	return storefront.Types[kind]
}

var errKind = errors.New("it is of a kind that no machine knows")

// Check compares the directory's records with their events and with each other.
type Check struct {
	*scan.Scan
	*Facts
	limitReferences     []limitReferences // each limit, with the records that it names
	users               []userReferences  // each user and session, with the records that it names
	providerSettlements []providerSettlement
	linksWithProducts   []linkProducts           // the links of the organization that have products
	productOwners       map[scan.RecordKey]int64 // organization and id of a product → number of the product's partner
	namedImages         []namedImage             // the images that the organization's links and products name
	imageNames          map[string]bool          // the organization's images
}

// New returns a Check that has not read any record yet.
func New(s *scan.Scan) *Check {
	return &Check{Scan: s, Facts: newFacts(), productOwners: make(map[scan.RecordKey]int64), imageNames: make(map[string]bool)}
}

// Facts holds what other rules need to know about partners, terminals, limits, rates and payment links.
type Facts struct {
	partners          map[PartnerKey]*Partner
	terminals         map[scan.RecordKey]*Terminal
	merchantTerminals map[PartnerKey][]MerchantTerminal // by the partner's key
	Owners            map[scan.RecordKey]int64          // organization and id of a partner's record → the partner's number
	Limits            map[PartnerKey][]*Limit           // by the partner's key
	Rates             map[scan.RecordKey]*Rate
	Numbers           map[int64]ledger.ID  // a partner's number → id of the partner's record
	ClaimedNumbers    map[string]ledger.ID // a claimed partner number → id of the record that the claim names
	Links             map[scan.RecordKey]Link
	Addresses         map[string]ledger.ID // key of an address (storefront.AddressKey) → organization of its record
	ClaimedAddresses  map[string]ledger.ID // key of a claimed address → the organization that the claim names
	RecordNames       map[RecordName]bool  // all records, by the names that responses use for them
}

// PartnerKey identifies a partner by the organization and the partner's number.
type PartnerKey struct {
	Org    ledger.ID
	Number int64
}

// Partner holds the facts about a partner that other rules use.
type Partner struct {
	LastWrite
	Overdraft  map[money.Asset]money.Amount
	hasAddress bool // whether a notification address is set
}

// Terminal holds the facts about a terminal that other rules use.
type Terminal struct {
	LastWrite
	Partner         int64
	Env             string
	Settings        directory.Settings
	HostedAttempts  int
	hasAddress      bool // whether the terminal has a notification address of its own
	selectsStatuses bool // whether the terminal itself selects the statuses of which the merchant is notified
}

// Rate is a stored exchange rate.
type Rate struct {
	LastWrite
	Value string
}

// LastWrite says when a record of the directory was last written.
type LastWrite struct {
	Changed   bool // whether the record was written again after its creation
	UpdatedAt ledger.Micros
}

func lastWriteOf(r *scan.Record) LastWrite {
	return LastWrite{r.Header.Version > 1, r.Header.UpdatedAt}
}

// ChangedSince tells whether the settings in the record may have been different when the transaction was decided. If so, the
// check does not judge the transaction by the present settings.
func (w *LastWrite) ChangedSince(transaction *scan.Record) bool {
	return w.Changed && transaction.Header.StartedAt < w.UpdatedAt+scan.MaxDecisionTime
}

// RecordName identifies a record of the directory by the name that responses use for it.
type RecordName struct {
	Kind ledger.Kind
	Org  ledger.ID // for an organization's record: the organization's own id
	ID   string    // the record's id; for a partner, the partner's number
}

func newFacts() *Facts {
	return &Facts{
		partners: make(map[PartnerKey]*Partner), terminals: make(map[scan.RecordKey]*Terminal), Rates: make(map[scan.RecordKey]*Rate),
		Limits: make(map[PartnerKey][]*Limit), merchantTerminals: make(map[PartnerKey][]MerchantTerminal), Owners: make(map[scan.RecordKey]int64),
		Numbers: make(map[int64]ledger.ID), ClaimedNumbers: make(map[string]ledger.ID), RecordNames: make(map[RecordName]bool),
		Links: make(map[scan.RecordKey]Link), Addresses: make(map[string]ledger.ID), ClaimedAddresses: make(map[string]ledger.ID),
	}
}

// Partner returns the partner with this number. It returns nil if the partner does not exist.
func (f *Facts) Partner(org ledger.ID, number int64) *Partner {
	return f.partners[PartnerKey{org, number}]
}

// Terminal returns the terminal with this id. It returns nil if the terminal does not exist.
func (f *Facts) Terminal(org, id ledger.ID) *Terminal {
	return f.terminals[scan.RecordKey{Org: org, ID: id}]
}

// CheckRecord compares a record of the directory with the record's events, and notes on which keys the record must have
// a claim. It returns the name that responses use for the record.
func (c *Check) CheckRecord(r *scan.Record, record any) (name string) {
	name = r.Source.ID.String()
	switch p := record.(type) {
	case *directory.Organization:
		c.CheckState(r, string(p.Status))
	case *directory.Platform:
		c.CheckState(r, string(directory.StateOpen))
		c.checkTokens(r, p)
	case *directory.User:
		c.CheckState(r, activityState(p.Active))
		c.expectClaim(r, ledger.ClaimLogin, p.Login)
		c.users = append(c.users, userReferences{r.Organization, r.Source, p.Partner, ledger.ID{}})
	case *directory.Partner:
		c.CheckState(r, activityState(p.Active))
		c.checkPartner(r, p)
		name = strconv.FormatInt(p.Number, 10)
	case *directory.Terminal:
		c.CheckState(r, activityState(p.Active))
		c.checkTerminal(r, p)
	case *directory.APIKey:
		c.checkRevocable(r, p.Hash, p.RevokedAt)
	case *directory.Session:
		c.checkRevocable(r, p.Hash, p.RevokedAt)
		c.users = append(c.users, userReferences{r.Organization, r.Source, p.Partner, p.User})
	case *directory.Settlement:
		c.CheckState(r, string(directory.StateSettled))
		c.checkSettlement(r, p)
	case *directory.Rate:
		c.checkRate(r, p)
	case *directory.Limit:
		c.CheckState(r, activityState(p.Active))
		c.checkLimit(r, p)
	case *storefront.Link:
		c.CheckState(r, activityState(p.Active))
		c.checkLink(r, p)
	case *storefront.Product:
		c.CheckState(r, activityState(p.Active))
		c.checkProduct(r, p)
	case *storefront.Image:
		c.CheckState(r, string(directory.StateActive))
		c.checkImage(r, p)
	case *directory.Block:
		c.CheckState(r, activityState(p.Active))
		c.checkBlock(r, p)
	}
	c.Facts.RecordNames[RecordName{r.Source.Kind, r.Organization.ID, name}] = true
	return name
}

func activityState(active bool) string {
	if active {
		return string(directory.StateActive)
	}
	return string(directory.StateInactive)
}

// checkRevocable checks the state of an API key or a session, and notes that the record must have a claim on its hash.
func (c *Check) checkRevocable(r *scan.Record, hash [32]byte, revoked ledger.Micros) {
	state := directory.StateActive
	if revoked != 0 {
		state = directory.StateRevoked
	}
	c.CheckState(r, string(state))
	c.expectClaim(r, ledger.ClaimKeyHash, hex.EncodeToString(hash[:]))
}

// expectClaim notes that a record must have a claim on a key.
func (c *Check) expectClaim(r *scan.Record, kind ledger.ClaimKind, key string) {
	r.History.ClaimKind, r.History.ClaimHash = kind, r.Organization.Histories.Hash(byte(kind), key)
}

func (c *Check) checkPartner(r *scan.Record, p *directory.Partner) {
	c.expectClaim(r, ledger.ClaimLogin, p.Login)
	if other, exists := c.Facts.Numbers[p.Number]; exists {
		c.Report.Breach(findings.RuleClaims, "partners %v and %v have one number", other, r.Source.ID)
	}
	c.Facts.Numbers[p.Number] = r.Source.ID
	c.Facts.Owners[scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID}] = p.Number
	fact := &Partner{LastWrite: lastWriteOf(r), Overdraft: make(map[money.Asset]money.Amount), hasAddress: p.NotifyURL != ""}
	for _, limit := range p.Overdraft {
		fact.Overdraft[limit.Asset] = limit.Amount
	}
	c.Facts.partners[PartnerKey{Org: r.Organization.ID, Number: p.Number}] = fact
}

func (c *Check) checkTerminal(r *scan.Record, t *directory.Terminal) {
	if err := t.Reparse(); err != nil {
		c.Fault(r, "has settings that can't be read")
		return
	}
	fact := &Terminal{LastWrite: lastWriteOf(r), Partner: t.Partner, Env: t.Env.String(), Settings: t.Settings, HostedAttempts: t.Notification.HostedAttempts}
	c.Facts.terminals[scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID}] = fact
	c.noteAddress(r, t, fact)
}

// checkRate compares a rate with its last event.
func (c *Check) checkRate(r *scan.Record, p *directory.Rate) {
	if !r.Organization.Histories.IsInState(r.History, ledger.Rate, p.Value.String()) {
		c.Fault(r, "has another value than its events lead to")
	}
	c.Facts.Rates[scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID}] = &Rate{lastWriteOf(r), p.Value.String()}
}
