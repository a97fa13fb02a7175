package directory

import (
	"encoding/hex"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Largest lengths of a partner's fields.
const (
	MaxPassword  = 256 // bytes
	MaxSources   = 100 // entries of Sources
	MaxOverdraft = 200 // entries of Overdraft
)

// Partner is a merchant: the owner of transactions, balances, terminals and keys.
type Partner struct {
	ID        ledger.ID
	Org       ledger.ID
	Number    int64 // the partner's id in the API, from one sequence for the partners of all organizations
	Name      string
	Login     string
	PassHash  string // PHC string (hash, salt and parameters); if empty, the partner can't log in
	Email     string
	Lang      string // language of the status descriptions in responses; empty: English
	NotifyURL string // for notifications of terminals that have no notify_url of their own
	Secret    string // signs the notifications to NotifyURL
	Active    bool
	Sources   []netip.Prefix // addresses from which requests may come; empty: any
	Overdraft []Overdraft
	Branding  Branding // look of the pages that payers see; zero: the service's default
	CreatedAt ledger.Micros
	FirstSeq  uint64 // journal number (Seq) of the event that created the partner; actors/directory sets it on reading

	// Epoch increases when the password changes. Sessions that began in an earlier epoch are no longer valid.
	Epoch uint32
}

// Partners are the columns of partners (specification, "Partner administration").
var Partners = schema.NewType[Partner]("partner",
	schema.Field(schema.DerivedInteger(1, "id", schema.RequiredInStore, schema.ReadOnlyFixed,
		schema.Help("number of the partner; the whole platform has one sequence of numbers")), func(p *Partner) *int64 { return &p.Number }),
	schema.Field(schema.Text(2, "name", schema.Required, schema.OneLine,
		schema.Help("name of the merchant")), func(p *Partner) *string { return &p.Name }),
	schema.Field(schema.Text(3, "login", schema.Required, schema.Fixed, schema.OneLine, schema.Rule(noSpaces),
		schema.Help("name to log in with, unique in the organization")), func(p *Partner) *string { return &p.Login }),
	passwordColumn(),
	columns.CreatedColumn(func(p *Partner) *ledger.Micros { return &p.CreatedAt }),
	schema.Field(schema.Text(4, "email", schema.Settable, schema.AtMost(MaxEmail), schema.Rule(textRule(checkEmail)),
		schema.Help("e-mail address")), func(p *Partner) *string { return &p.Email }),
	schema.Field(schema.Text(5, "lang", schema.OutOfLists, schema.RefuseEmpty(LanguageRule), schema.Rule(langRule),
		schema.Help("language of the descriptions of the partner's transactions; English if absent")), func(p *Partner) *string { return &p.Lang }),
	schema.Field(schema.Text(6, keyNotifyURL, schema.OutOfLists, schema.RefuseEmpty(EmptyNotifyURL), schema.AtMost(MaxURL),
		schema.Help("address to which notifications are sent, for terminals that have no address of their own")), func(p *Partner) *string { return &p.NotifyURL }),
	schema.Field(schema.Text(7, keySecret, schema.Secret, schema.RefuseEmpty(EmptySecret), schema.AtMost(MaxSecret), schema.Rule(secretRule),
		schema.Help("secret with which notifications to notify_url are signed")), func(p *Partner) *string { return &p.Secret }),
	schema.Field(sourcesColumn(8, "source_addresses", schema.Flag("source"), schema.Settable, schema.NotNull,
		schema.Help("addresses and CIDR prefixes from which requests may come; an empty list means any")), func(p *Partner) *[]netip.Prefix { return &p.Sources }),
	schema.Field(schema.Entries(9, "overdraft_limit", overdrafts, schema.Settable, schema.NotNull, schema.AtMost(MaxOverdraft),
		schema.Help("how far below zero the partner's balances may go")), func(p *Partner) *[]Overdraft { return &p.Overdraft }),
	schema.Field(schema.Bool(10, "active", schema.NotNull, schema.DefaultTo(true), schema.ShownAfter("created_at"),
		schema.Help("whether the partner's requests are accepted")), func(p *Partner) *bool { return &p.Active }),
	schema.Field(schema.Nested(13, "branding", brandings, schema.Settable,
		schema.Help("how payers' pages present the merchant")), func(p *Partner) *Branding { return &p.Branding }),
	schema.Field(schema.Text(11, "pass_hash", schema.NotShown), func(p *Partner) *string { return &p.PassHash }),
	schema.NumberField(schema.DerivedInteger(12, "epoch", schema.NotShown), func(p *Partner) *uint32 { return &p.Epoch }),
).CrossCheck(crossCheckPartner).
	Invariant(func(p *Partner) string { return partnerNumberProblem(p.Number) }).
	WithRowMetadata(func(p *Partner, metadata schema.RowMetadata) {
		p.Org, p.ID, p.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// Branding says how the pages that payers see present the merchant.
type Branding struct {
	DisplayName  string // shown as the merchant's name; empty: the partner's name is shown
	Logo         string // address of an uploaded image; empty: none
	Color        string // "#rrggbb", of the buttons; empty: the pages' own color
	SupportEmail string
	TermsURL     string
}

var brandings = schema.NewType[Branding]("branding",
	schema.Field(schema.Text(1, "display_name", schema.Settable, schema.OneLine, schema.AtMost(maxDisplayName),
		schema.Help("name of the merchant on the pages")), func(b *Branding) *string { return &b.DisplayName }),
	schema.Field(schema.Text(2, "logo", schema.Settable, schema.OneLine, schema.AtMost(MaxURL),
		schema.Help("address of an uploaded image")), func(b *Branding) *string { return &b.Logo }),
	schema.Field(schema.Text(3, "color", schema.Settable, schema.Rule(colorRule),
		schema.Help("color of the buttons, #rrggbb")), func(b *Branding) *string { return &b.Color }),
	schema.Field(schema.Text(4, "support_email", schema.Settable, schema.AtMost(MaxEmail), schema.Rule(textRule(checkEmail)),
		schema.Help("e-mail address at which payers find help")), func(b *Branding) *string { return &b.SupportEmail }),
	schema.Field(schema.Text(5, "terms_url", schema.Settable, schema.OneLine, schema.AtMost(MaxURL), schema.Rule(textRule(checkURL)),
		schema.Help("address of the merchant's terms")), func(b *Branding) *string { return &b.TermsURL }),
)

// maxDisplayName is the largest length of a display name, in characters.
const maxDisplayName = 100

// colorRule refuses a color that is not of the form #rrggbb.
func colorRule(value any) string {
	digits, hasSign := strings.CutPrefix(value.(string), "#")
	if _, err := hex.DecodeString(digits); err != nil || !hasSign || len(digits) != 6 {
		return "must be of the form #rrggbb"
	}
	return ""
}

// Overdraft is how far below zero a partner's available balance may go.
type Overdraft struct {
	Asset  money.Asset
	Amount money.Amount
}

var overdrafts = columns.WithAsset(schema.NewType[Overdraft]("overdraft",
	columns.CurrencyColumn(1, func(o *Overdraft) *money.Asset { return &o.Asset }, schema.Required),
	columns.NetworkColumn(2, func(o *Overdraft) *money.Asset { return &o.Asset }),
	columns.AssetEnvColumn(3, func(o *Overdraft) *money.Asset { return &o.Asset }, schema.RefuseEmpty(columns.EnvRule)),
	schema.Field(schema.Amount(4, "amount", schema.Required, schema.OrZero, schema.NotNull,
		schema.Help("amount in minor units")), func(o *Overdraft) *money.Amount { return &o.Amount }),
), func(o *Overdraft) *money.Asset { return &o.Asset })

// OverdraftOf returns the partner's overdraft in the asset, or zero if none is set.
func (p *Partner) OverdraftOf(asset money.Asset) money.Amount {
	for i := range p.Overdraft {
		if p.Overdraft[i].Asset == asset {
			return p.Overdraft[i].Amount
		}
	}
	return money.Amount{}
}

// Admits tells whether requests may come from the IP address.
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

// String returns the record's identity. It shows no other field, because some fields are secret.
func (p *Partner) String() string { return "partner " + strconv.FormatInt(p.Number, 10) }

// LogValue implements slog.LogValuer.
func (p *Partner) LogValue() slog.Value { return slog.StringValue(p.String()) }

// CheckPassword refuses a password that is empty, or so long that hashing it would be slow.
func CheckPassword(pass []byte) error {
	const op = "directory.CreatePartner"
	if len(pass) == 0 {
		return ledger.RefuseField(op, "pass", "must not be empty")
	}
	if len(pass) > MaxPassword {
		return ledger.RefuseField(op, "pass", "is longer than %d bytes", MaxPassword)
	}
	return nil
}

// NewPartner returns a new partner with the fields of the draft, and the event of its creation. PassHash must be the hash
// of a password that CheckPassword accepted. NewPartner does not check whether the login is free: the claim (a unique key)
// on the login ensures that when the partner is stored. allowsPrivateURL tells whether NotifyURL may name a host that is
// not on the internet. If the draft is invalid, the error names all wrong fields.
func NewPartner(draft Partner, allowsPrivateURL bool) (*Partner, ledger.Event, error) {
	p := &draft
	if err := p.check("directory.CreatePartner", nil, allowsPrivateURL, new(schema.Faults)); err != nil {
		return nil, ledger.Event{}, err
	}
	return p, createdEvent(ledger.Partner, p.ID, stateOf(p.Active)), nil
}

// Patch returns a changed copy of the partner, and the event of this change. Number and login never change.
// allowsPrivateURL tells whether a new NotifyURL may name a host that is not on the internet. If the change is invalid, the
// error names all wrong fields.
func (p *Partner) Patch(change schema.Change[Partner], allowsPrivateURL bool) (*Partner, ledger.Event, error) {
	next, faults := *p, new(schema.Faults)
	change(&next, faults)
	if next.PassHash != p.PassHash {
		next.Epoch++
	}
	if err := next.check("directory.PatchPartner", p, allowsPrivateURL, faults); err != nil {
		return nil, ledger.Event{}, err
	}
	if Partners.Equal(&next, p) {
		return p, ledger.Event{}, nil
	}
	return &next, laterEvent(ledger.Partner, p.ID, switchAction(p.Active, next.Active), stateOf(p.Active), stateOf(next.Active)), nil
}

// check completes the networks of the overdrafts, and checks all fields of a partner. old is the partner before the change,
// or nil if the partner is new.
func (p *Partner) check(op string, old *Partner, allowsPrivateURL bool, f *schema.Faults) error {
	p.Overdraft = slices.Clone(p.Overdraft)
	for i := range p.Overdraft {
		p.Overdraft[i].Asset = columns.ResolveNetwork(p.Overdraft[i].Asset)
	}
	Partners.Check(old, p, f)
	if isNewURL := old == nil || p.NotifyURL != old.NotifyURL; isNewURL && !f.Has(keyNotifyURL) {
		f.AddProblem(keyNotifyURL, problemOf(checkNotifyURL(op, keyNotifyURL, p.NotifyURL, allowsPrivateURL)))
	}
	return FaultsAsRefusals(op, f)
}

// crossCheckPartner requires that each asset appears at most once among the overdrafts.
func crossCheckPartner(_, p *Partner, f *schema.Faults) {
	seen := make(map[money.Asset]bool, len(p.Overdraft))
	for i, overdraft := range p.Overdraft {
		if seen[overdraft.Asset] && overdraft.Asset.Currency != "" {
			f.Add("overdraft_limit."+strconv.Itoa(i), "repeats a currency, network and env")
		}
		seen[overdraft.Asset] = true
	}
}
