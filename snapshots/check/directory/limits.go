package directory

import (
	"bytes"
	"net/netip"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/scan"
)

// Rule 3, limits and the block list. A limit has a bound, and the partner and the terminal that
// it names exist. A blocked card is stored as its fingerprint.

// limitRow is the stored form of a limit and of an entry of the block list. Fields that a kind
// does not have are zero.
type limitRow struct {
	Kind      string `msgpack:"kind"`
	Type      string `msgpack:"type"`
	Currency  string `msgpack:"currency"`
	Network   string `msgpack:"network"`
	MaxAmount []byte `msgpack:"max_amount"`
	MaxCount  int64  `msgpack:"max_count"`
	Window    int64  `msgpack:"window"` // microseconds
	Scope     string `msgpack:"scope"`
	Value     string `msgpack:"value"`
	Masked    string `msgpack:"masked"`
}

// limitNames is a limit and the partner and terminal that it names, which may be read after it.
type limitNames struct {
	organization *scan.Organization
	source       ledger.Source
	partner      int64
	terminal     []byte
	env          string
}

// second is one second in microseconds.
const second = 1_000_000

// checkLimit checks that a limit has a bound, and records the partner and terminal that it
// names.
func (c *Check) checkLimit(r *scan.Record, row *Row) {
	var b limitRow
	if msgpack.NewDecoder(bytes.NewReader(r.Payload[1:])).Decode(&b) != nil {
		c.Fault(r, "can't be read")
		return
	}
	amount, rest, err := money.ReadAmount(b.MaxAmount)
	sum := err == nil && len(rest) == 0 && !amount.IsZero() && !ledger.MaxAmount.Less(amount) && b.Currency != "" && b.MaxCount == 0 && b.Window == 0
	pace := b.MaxAmount == nil && b.MaxCount > 0 && b.MaxCount <= directory.MaxCount && (b.Window == 60*second || b.Window == 3600*second)
	kind := directory.LimitKind(b.Kind)
	if kind == directory.Velocity && !pace || kind != directory.Velocity && !sum {
		c.Fault(r, "bounds nothing")
	}
	switch kind {
	case directory.PerTransaction, directory.DailyVolume, directory.MonthlyVolume, directory.Velocity:
	default:
		c.Fault(r, "is of the unknown kind %q", b.Kind)
	}
	switch directory.Scope(b.Scope) {
	case directory.ScopePartner, directory.ScopeCard, directory.ScopeEmail, directory.ScopeIP:
	default:
		c.Fault(r, "is of the unknown scope %q", b.Scope)
	}
	c.limitNames = append(c.limitNames, limitNames{r.Organization, r.Source, row.Partner, row.Terminal, row.Env})
	env, _ := money.ParseEnv(row.Env)
	of := PartnerKey{Org: r.Organization.ID, Number: row.Partner}
	c.Facts.Limits[of] = append(c.Facts.Limits[of], &Limit{
		Setting: settingOf(r), ID: r.Source.ID, active: row.Active, Kind: kind, Scope: directory.Scope(b.Scope), partner: row.Partner,
		terminal: row.Terminal, kindOf: b.Type, asset: money.Asset{Currency: money.Currency(b.Currency), Network: money.Network(b.Network), Env: env},
	})
}

// CheckLimits checks that every limit names a partner of its organization. If it names a
// terminal, the terminal belongs to that partner and to the limit's environment.
func (c *Check) CheckLimits() error {
	for i := range c.limitNames {
		b := &c.limitNames[i]
		r := &scan.Record{Organization: b.organization, Source: b.source}
		if c.Facts.Partner(b.organization.ID, b.partner) == nil {
			c.Fault(r, "bounds partner %d, who is not there", b.partner)
		}
		if len(b.terminal) == 0 {
			continue
		}
		if len(b.terminal) != len(ledger.ID{}) {
			c.Fault(r, "names no terminal")
			continue
		}
		if t := c.Facts.Terminal(b.organization.ID, ledger.ID(b.terminal)); t == nil || t.Partner != b.partner || t.Env != b.env {
			c.Fault(r, "bounds a terminal that its partner does not have")
		}
	}
	return nil
}

// checkBlock compares an entry of the block list with its id, which is derived from its value,
// so that a value has only one entry.
func (c *Check) checkBlock(r *scan.Record) {
	var b limitRow
	if msgpack.NewDecoder(bytes.NewReader(r.Payload[1:])).Decode(&b) != nil {
		c.Fault(r, "can't be read")
		return
	}
	kind := directory.BlockKind(b.Kind)
	if !kind.Valid() {
		c.Fault(r, "is of the unknown kind %q", b.Kind)
	}
	if r.Source.ID != directory.BlockID(r.Organization.ID, kind, b.Value) {
		c.Fault(r, "lies in another value's place")
	}
	switch kind {
	case directory.BlockCard:
		if len(b.Value) != directory.CardPrintLength || b.Masked == "" {
			c.Fault(r, "is no fingerprint of a card")
		}
	case directory.BlockIP:
		_, noAddress := netip.ParseAddr(b.Value)
		if _, err := netip.ParsePrefix(b.Value); noAddress != nil && err != nil {
			c.Fault(r, "is no address")
		}
	}
}
