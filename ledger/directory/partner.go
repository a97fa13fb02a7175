package directory

import (
	"log/slog"
	"net/netip"
	"reflect"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Bounds of a partner's fields.
const (
	MaxPass      = 256 // bytes
	MaxSources   = 100
	MaxOverdraft = 200
)

// Partner is a merchant: the owner of transactions, balances, terminals and keys.
type Partner struct {
	ID        ledger.ID
	Org       ledger.ID
	Number    int64 // the protocol's id: one sequence of the platform
	Name      string
	Login     string
	PassHash  string // PHC string; empty: the partner can't log in
	Email     string
	Lang      string // of status descriptions; empty: English
	NotifyURL string // used where a terminal has none
	Secret    string // signs what goes to NotifyURL
	Active    bool
	Sources   []netip.Prefix // empty: requests may come from anywhere
	Overdraft []Overdraft
	Created   ledger.Micros
}

// Overdraft is how far below zero a partner's available balance may go.
type Overdraft struct {
	Asset  money.Asset
	Amount money.Amount
}

// OverdraftOf is the partner's limit in the asset, zero where none is set.
func (p *Partner) OverdraftOf(asset money.Asset) money.Amount {
	for i := range p.Overdraft {
		if p.Overdraft[i].Asset == asset {
			return p.Overdraft[i].Amount
		}
	}
	return money.Amount{}
}

// Admits tells whether a request may come from the address.
func (p *Partner) Admits(address netip.Addr) bool {
	if len(p.Sources) == 0 {
		return true
	}
	address = address.Unmap().WithZone("")
	for _, source := range p.Sources {
		if source.Contains(address) {
			return true
		}
	}
	return false
}

// String names the record and shows nothing of it: it holds what must not be printed.
func (p *Partner) String() string { return "partner " + strconv.FormatInt(p.Number, 10) }

// LogValue implements slog.LogValuer.
func (p *Partner) LogValue() slog.Value { return slog.StringValue(p.String()) }

// PartnerDraft is what a new partner was asked to be. Fields are as they were
// sent; PassHash is made of a password that CheckPass let through.
type PartnerDraft struct {
	Name      string
	Login     string
	PassHash  string
	Email     string
	Lang      string
	NotifyURL string
	Secret    string
	Inactive  bool
	Sources   []string // addresses and CIDR prefixes
	Overdraft []Overdraft
}

// Check reports what is wrong with the draft before a number and a hash are
// spent on it. The error is a *ledger.Refusal.
func (d *PartnerDraft) Check() error {
	_, _, err := NewPartner(ledger.ID{}, ledger.ID{}, 1, *d)
	return err
}

// CheckPass refuses a password that is empty or would take long to hash.
func CheckPass(pass []byte) error {
	const op = "directory.CreatePartner"
	if len(pass) == 0 {
		return ledger.RefuseField(op, "pass", "must not be empty")
	}
	if len(pass) > MaxPass {
		return ledger.RefuseField(op, "pass", "is longer than %d bytes", MaxPass)
	}
	return nil
}

// NewPartner decides a creation. That the login is free is for its claim to
// say. The error is a *ledger.Refusal.
func NewPartner(id, org ledger.ID, number int64, d PartnerDraft) (*Partner, ledger.Event, error) {
	const op = "directory.CreatePartner"
	p := &Partner{
		ID: id, Org: org, Number: number,
		Name: d.Name, Login: d.Login, PassHash: d.PassHash, Email: d.Email, Lang: d.Lang,
		NotifyURL: d.NotifyURL, Secret: d.Secret, Active: !d.Inactive,
	}
	if err := checkLogin(op, d.Login); err != nil {
		return nil, ledger.Event{}, err
	}
	if err := checkLang(op, d.Lang); err != nil {
		return nil, ledger.Event{}, err
	}
	if err := p.fill(op, d.Sources, d.Overdraft); err != nil {
		return nil, ledger.Event{}, err
	}
	return p, began(ledger.Partner, id, onOff(p.Active)), nil
}

// PartnerPatch is what a partner was asked to become; nil leaves a field as it
// is, a list is replaced as a whole. Number and login never change.
type PartnerPatch struct {
	Name      *string
	Email     *string
	Lang      *string
	NotifyURL *string
	Secret    *string
	Active    *bool
	Sources   *[]string
	Overdraft *[]Overdraft
}

// Patch decides a change. The error is a *ledger.Refusal.
func (p *Partner) Patch(patch PartnerPatch) (*Partner, ledger.Event, error) {
	const op = "directory.PatchPartner"
	if patch.Lang != nil { // a stored one is as it is: it must not keep a partner from being switched off
		if err := checkLang(op, *patch.Lang); err != nil {
			return nil, ledger.Event{}, err
		}
	}
	next := *p
	assign(&next.Name, patch.Name)
	assign(&next.Email, patch.Email)
	assign(&next.Lang, patch.Lang)
	assign(&next.NotifyURL, patch.NotifyURL)
	assign(&next.Secret, patch.Secret)
	assign(&next.Active, patch.Active)
	sources, overdraft := sourceTexts(p.Sources), p.Overdraft
	assign(&sources, patch.Sources)
	assign(&overdraft, patch.Overdraft)
	if err := next.fill(op, sources, overdraft); err != nil {
		return nil, ledger.Event{}, err
	}
	became, event := p.became(&next)
	return became, event, nil
}

// WithPass decides that another password holds from now on.
func (p *Partner) WithPass(hash string) (*Partner, ledger.Event) {
	next := *p
	next.PassHash = hash
	return p.became(&next)
}

func (p *Partner) became(next *Partner) (*Partner, ledger.Event) {
	if reflect.DeepEqual(next, p) {
		return p, ledger.Event{}
	}
	action := switching(p.Active, next.Active)
	return next, moved(ledger.Partner, p.ID, action, onOff(p.Active), onOff(next.Active))
}

// fill checks every field but login and language and parses what was sent as text.
func (p *Partner) fill(op string, sources []string, overdraft []Overdraft) (err error) {
	if err = checkText(op, "name", p.Name); err != nil {
		return err
	}
	if err = checkEmail(op, "email", p.Email); err != nil {
		return err
	}
	if err = checkURL(op, "notify_url", p.NotifyURL); err != nil {
		return err
	}
	if err = checkSecret(op, "secret", p.Secret); err != nil {
		return err
	}
	if p.Sources, err = parseSources(op, sources); err != nil {
		return err
	}
	p.Overdraft, err = checkOverdraft(op, overdraft)
	return err
}

func checkOverdraft(op string, limits []Overdraft) ([]Overdraft, error) {
	const field = "overdraft_limit"
	if len(limits) > MaxOverdraft {
		return nil, ledger.RefuseField(op, field, "has more than %d entries", MaxOverdraft)
	}
	var checked []Overdraft
	seen := make(map[money.Asset]bool, len(limits))
	for i, limit := range limits {
		at := field + "." + strconv.Itoa(i)
		if _, ok := money.Accepted(string(limit.Asset.Currency)); !ok {
			return nil, ledger.RefuseField(op, at+".currency", "unsupported currency")
		}
		if n := limit.Asset.Network; n != "" {
			if _, ok := money.ParseNetwork(string(n)); !ok {
				return nil, ledger.RefuseField(op, at+".network", "is not a network's name")
			}
		}
		if !limit.Asset.Env.Valid() {
			return nil, ledger.RefuseField(op, at+".env", "must be prod or test")
		}
		if ledger.MaxAmount.Less(limit.Amount) {
			return nil, ledger.RefuseField(op, at+".amount", "is out of range")
		}
		limit.Asset.Network = money.ResolveNetwork(limit.Asset.Currency, limit.Asset.Network)
		if seen[limit.Asset] {
			return nil, ledger.RefuseField(op, at, "repeats a currency, network and env")
		}
		seen[limit.Asset] = true
		checked = append(checked, limit)
	}
	return checked, nil
}

func parseSources(op string, texts []string) ([]netip.Prefix, error) {
	const field = "source_addresses"
	if len(texts) > MaxSources {
		return nil, ledger.RefuseField(op, field, "has more than %d entries", MaxSources)
	}
	var sources []netip.Prefix
	for _, text := range texts {
		source, err := ParseSource(text)
		if err != nil {
			return nil, ledger.RefuseField(op, field, "must hold IP addresses or CIDR prefixes")
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// ParseSource reads a CIDR prefix, or an address, which stands for itself. The
// host bits of a prefix are cleared; an IPv4 address in IPv6 form is taken as IPv4.
func ParseSource(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap().WithZone("")
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	const mapped = 96 // bits of ::ffff:0:0/96
	if address := prefix.Addr(); address.Is4In6() && prefix.Bits() >= mapped {
		prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-mapped)
	}
	return prefix.Masked(), nil
}

func sourceTexts(sources []netip.Prefix) []string {
	var texts []string
	for _, source := range sources {
		texts = append(texts, source.String())
	}
	return texts
}
