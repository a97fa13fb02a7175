package directory

import (
	"errors"
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
	Number    int64 // the protocol's id, from one sequence of the platform
	Name      string
	Login     string
	PassHash  string // PHC string; empty: the partner can't log in
	Email     string
	Lang      string // language of status descriptions; empty: English
	NotifyURL string // used if a terminal has none
	Secret    string // signs notifications to NotifyURL
	Active    bool
	Sources   []netip.Prefix // empty: requests may come from anywhere
	Overdraft []Overdraft
	Created   ledger.Micros

	// Epoch increases with each change of the password, which ends the partner's sessions.
	Epoch uint32
}

// Overdraft is how far below zero a partner's available balance may go.
type Overdraft struct {
	Asset  money.Asset
	Amount money.Amount
}

// OverdraftOf returns the partner's overdraft in the asset; zero if none is set.
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

// String returns the record's identity. It shows no field, because fields are secret.
func (p *Partner) String() string { return "partner " + strconv.FormatInt(p.Number, 10) }

// LogValue implements slog.LogValuer.
func (p *Partner) LogValue() slog.Value { return slog.StringValue(p.String()) }

// PartnerDraft is a request for a new partner. Fields are as in the request; PassHash is the
// hash of a password that CheckPass accepted.
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

	PrivateHooks bool // NotifyURL may name an address that is not on the internet
}

// Check reports what is wrong with the draft before the caller takes a number and computes a
// hash for it. The error is Join's.
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

// NewPartner decides the creation of a partner. The claim on the login decides whether the login
// is free. The error is Join's.
func NewPartner(id, org ledger.ID, number int64, d PartnerDraft) (*Partner, ledger.Event, error) {
	const op = "directory.CreatePartner"
	p := &Partner{
		ID: id, Org: org, Number: number,
		Name: d.Name, Login: d.Login, PassHash: d.PassHash, Email: d.Email, Lang: d.Lang,
		NotifyURL: d.NotifyURL, Secret: d.Secret, Active: !d.Inactive,
	}
	overdraft, err := checkOverdraft(op, d.Overdraft)
	err = Join(
		checkLogin(op, d.Login), checkLang(op, d.Lang), checkNotifyURL(op, keyNotifyURL, d.NotifyURL, d.PrivateHooks), checkUnmasked(op, keySecret, d.Secret),
		p.fill(op, d.Sources), err,
	)
	if err != nil {
		return nil, ledger.Event{}, err
	}
	p.Overdraft = overdraft
	return p, began(ledger.Partner, id, onOff(p.Active)), nil
}

// PartnerPatch is a request to change a partner. Nil leaves a field unchanged, a list is
// replaced as a whole, and Mask as the secret keeps the stored one. Number and login never
// change.
type PartnerPatch struct {
	Name      *string
	PassHash  *string // of a password that CheckPass accepted
	Email     *string
	Lang      *string
	NotifyURL *string
	Secret    *string
	Active    *bool
	Sources   *[]string
	Overdraft *[]Overdraft

	PrivateHooks bool // as in PartnerDraft; a stored address may stay
}

// Patch decides a change. It checks language, overdraft and notification address only if the
// request has them, because an outdated stored value must not prevent switching the partner off.
// The error is Join's.
func (p *Partner) Patch(patch PartnerPatch) (*Partner, ledger.Event, error) {
	const op = "directory.PatchPartner"
	next := *p
	var wrong error
	if patch.Lang != nil {
		wrong = checkLang(op, *patch.Lang)
	}
	if patch.Overdraft != nil {
		overdraft, err := checkOverdraft(op, *patch.Overdraft)
		next.Overdraft, wrong = overdraft, Join(wrong, err)
	}
	if patch.NotifyURL != nil && *patch.NotifyURL != p.NotifyURL {
		wrong = Join(wrong, checkNotifyURL(op, keyNotifyURL, *patch.NotifyURL, patch.PrivateHooks))
	}
	if patch.Secret != nil && *patch.Secret == Mask && p.Secret != "" {
		patch.Secret = nil
	}
	if patch.Secret != nil {
		wrong = Join(wrong, checkUnmasked(op, keySecret, *patch.Secret))
	}
	assign(&next.Name, patch.Name)
	if patch.PassHash != nil {
		next.PassHash = *patch.PassHash
		next.Epoch++
	}
	assign(&next.Email, patch.Email)
	assign(&next.Lang, patch.Lang)
	assign(&next.NotifyURL, patch.NotifyURL)
	assign(&next.Secret, patch.Secret)
	assign(&next.Active, patch.Active)
	sources := sourceTexts(p.Sources)
	assign(&sources, patch.Sources)
	if err := Join(next.fill(op, sources), wrong); err != nil {
		return nil, ledger.Event{}, err
	}
	became, event := p.became(&next)
	return became, event, nil
}

// WithPass decides a change of the password.
func (p *Partner) WithPass(hash string) (*Partner, ledger.Event) {
	next := *p
	next.PassHash = hash
	next.Epoch++
	return p.became(&next)
}

func (p *Partner) became(next *Partner) (*Partner, ledger.Event) {
	if reflect.DeepEqual(next, p) {
		return p, ledger.Event{}
	}
	action := switching(p.Active, next.Active)
	return next, moved(ledger.Partner, p.ID, action, onOff(p.Active), onOff(next.Active))
}

// fill checks the fields whose stored values must be valid too, and parses the source addresses.
func (p *Partner) fill(op string, sources []string) error {
	parsed, err := parseSources(op, sources)
	p.Sources = parsed
	return Join(
		checkText(op, "name", p.Name),
		checkEmail(op, "email", p.Email),
		checkURL(op, keyNotifyURL, p.NotifyURL),
		checkSecret(op, keySecret, p.Secret),
		err,
	)
}

// checkOverdraft requires that each asset exists and appears once. A currency that is on several
// networks may have none, for money whose network was never known.
func checkOverdraft(op string, limits []Overdraft) ([]Overdraft, error) {
	const field = "overdraft_limit"
	if len(limits) > MaxOverdraft {
		return nil, ledger.RefuseField(op, field, "has more than %d entries", MaxOverdraft)
	}
	var wrong error
	var checked []Overdraft
	seen := make(map[money.Asset]bool, len(limits))
	for i, limit := range limits {
		at := field + "." + strconv.Itoa(i)
		limit.Asset.Network = money.ResolveNetwork(limit.Asset.Currency, limit.Asset.Network)
		wrong = Join(wrong, limit.check(op, at), check(!seen[limit.Asset], op, at, "repeats a currency, network and env"))
		seen[limit.Asset] = true
		checked = append(checked, limit)
	}
	return checked, wrong
}

func (o *Overdraft) check(op, at string) error {
	_, accepted := money.Accepted(string(o.Asset.Currency))
	_, known := o.Asset.Scale()
	return Join(
		check(accepted, op, at+".currency", "unsupported currency"),
		check(o.Asset.Network == "" || known || !accepted || !o.Asset.Env.Valid(), op, at+".network", "is no network of %s", o.Asset.Currency),
		check(o.Asset.Env.Valid(), op, at+".env", "must be prod or test"),
		check(!ledger.MaxAmount.Less(o.Amount), op, at+".amount", "is out of range"),
	)
}

func parseSources(op string, texts []string) ([]netip.Prefix, error) {
	const field = "source_addresses"
	if len(texts) > MaxSources {
		return nil, ledger.RefuseField(op, field, "has more than %d entries", MaxSources)
	}
	var wrong error
	var sources []netip.Prefix
	for i, text := range texts {
		source, err := ParseSource(text)
		wrong = Join(wrong, check(err == nil, op, field+"."+strconv.Itoa(i), "must be an IP address or a CIDR prefix (no zone; IPv4 in IPv6 form has a prefix of 96 bits or more)"))
		sources = append(sources, source)
	}
	return sources, wrong
}

var errNoSource = errors.New("no address or prefix of one meaning")

// ParseSource parses a CIDR prefix or an address, which becomes a prefix with all bits. It
// clears the host bits of a prefix and converts IPv4 in IPv6 form to IPv4. It refuses addresses
// with a zone, which have a meaning on one machine only, and shorter prefixes of IPv4 in IPv6
// form, which would contain more than IPv4.
func ParseSource(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return netip.Prefix{}, errNoSource
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	const mapped = 96 // bits of ::ffff:0:0/96
	if address := prefix.Addr(); address.Is4In6() {
		if prefix.Bits() < mapped {
			return netip.Prefix{}, errNoSource
		}
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
