package directory

import (
	"bytes"
	"log/slog"
	"slices"
	"strconv"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// TerminalType tells which kind of transactions a terminal serves. The zero value is invalid.
type TerminalType string

// The types of terminals.
const (
	PaymentTerminal  TerminalType = "payment"
	PayoutTerminal   TerminalType = "payout"
	MerchantTerminal TerminalType = "merchant" // only configures notifications; no transaction is routed to it
)

// IsValid tells whether t is one of the types.
func (t TerminalType) IsValid() bool {
	return t == PaymentTerminal || t == PayoutTerminal || t == MerchantTerminal
}

// Bounds of terminals.
const (
	MaxParams    = 16 << 10 // largest size in bytes of provider_params, and of merchant_params
	MaxTerminals = 1000     // largest number of terminals of one partner, because routing checks them all
)

// Terminal is a partner's configured connection to one provider, in one environment. The objects ProviderParams and
// MerchantParams are stored as the requests contain them. Settings, Parameters, Server and Notification are parsed from the
// two objects.
type Terminal struct {
	ID              ledger.ID
	Org             ledger.ID
	Partner         int64
	Name            string
	Provider        string // may be empty for MerchantTerminal
	Type            TerminalType
	Active          bool
	Env             money.Env
	ProviderParams  []byte // JSON object; nil: the request had none
	MerchantParams  []byte // JSON object; nil: the request had none
	MerchantAdapter string
	Settings        Settings
	Notification    Notification
	Parameters      any // parameters that only the provider's adapter reads, as a pointer to a struct of the adapter; nil: none
	Server          Server
	CreatedAt       ledger.Micros
}

// String returns the record's identity. It shows no other field, because some fields are secret.
func (t *Terminal) String() string { return "terminal " + t.ID.String() }

// LogValue implements slog.LogValuer.
func (t *Terminal) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Terminals are the columns of terminals (specification, "Terminal administration"). An object of parameters that contains
// secrets is stored twice: with masks in place of the secrets, for readers without keys, and encrypted as a whole.
var Terminals = schema.NewType[Terminal]("terminal",
	columns.IDColumn(func(t *Terminal) *ledger.ID { return &t.ID }),
	schema.Field(schema.Text(1, "name", schema.Required, schema.OneLine,
		schema.Help("name of the terminal")), func(t *Terminal) *string { return &t.Name }),
	columns.PartnerColumn(2, func(t *Terminal) *int64 { return &t.Partner }, schema.Required, schema.Fixed),
	schema.Field(schema.Text(3, "provider", schema.Fixed, schema.NotNull, schema.Shared,
		schema.Help("provider of the terminal; empty for a terminal of type merchant")), func(t *Terminal) *string { return &t.Provider }),
	schema.TextField(schema.Word(4, "type", []string{string(PaymentTerminal), string(PayoutTerminal), string(MerchantTerminal)}, schema.Required, schema.Fixed,
		schema.Help("transactions that the terminal serves; a terminal of type merchant only configures notifications")), func(t *Terminal) *TerminalType { return &t.Type }),
	schema.Field(schema.Bool(5, "is_active", schema.NotNull, schema.DefaultTo(true), schema.Flag("active"),
		schema.Help("whether transactions are routed to the terminal")), func(t *Terminal) *bool { return &t.Active }),
	columns.EnvColumn(6, func(t *Terminal) *money.Env { return &t.Env }, schema.Fixed),
	schema.Field(parametersColumn(7, providerParams,
		"settings of the terminal and parameters of its provider"), func(t *Terminal) *[]byte { return &t.ProviderParams }),
	schema.Field(schema.Text(8, "merchant_adapter", schema.Settable, schema.NotNull, schema.OneLine, schema.OutOfLists,
		schema.Help("name of the merchant's payment software; it is stored and not used")), func(t *Terminal) *string { return &t.MerchantAdapter }),
	schema.Field(parametersColumn(9, merchantParams,
		"how the merchant and its operators are notified"), func(t *Terminal) *[]byte { return &t.MerchantParams }),
	columns.CreatedColumn(func(t *Terminal) *ledger.Micros { return &t.CreatedAt }),
	sealedParameters(10, SealedProviderParams, func(t *Terminal) *[]byte { return &t.ProviderParams }),
	sealedParameters(11, SealedMerchantParams, func(t *Terminal) *[]byte { return &t.MerchantParams }),
).CrossCheck(crossCheckTerminal).
	Invariant(func(t *Terminal) string { return partnerNumberProblem(t.Partner) }).
	WithRowMetadata(func(t *Terminal, metadata schema.RowMetadata) {
		t.Org, t.ID, t.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// Names of the hidden columns that contain encrypted parameters.
const (
	SealedProviderParams = "sealed_" + providerParams
	SealedMerchantParams = "sealed_" + merchantParams
)

// sealedParameters returns a hidden column that contains an object of parameters in encrypted form. If the object contains
// no secret and the provider has no secret parameters, the column is empty.
func sealedParameters(key uint8, name string, fieldOf func(*Terminal) *[]byte) *schema.Column {
	return schema.BoundField(schema.Object(key, name, schema.NotShown, schema.StoredEncrypted),
		func(t *Terminal) []byte {
			if params := *fieldOf(t); !bytes.Equal(Masked(params), params) || name == SealedProviderParams && len(t.provider().secrets()) > 0 {
				return params
			}
			return nil
		},
		func(t *Terminal, params []byte) { *fieldOf(t) = params })
}

// crossCheckTerminal refuses a new terminal whose provider is not registered.
func crossCheckTerminal(old, t *Terminal, f *schema.Faults) {
	isKnown := t.provider() != nil || t.Type == MerchantTerminal && t.Provider == ""
	if old == nil && !isKnown && !f.Has("provider") {
		f.Add("provider", "there is no such provider; there are %s", providerNames())
	}
}

// NewTerminal returns a new terminal with the fields of the draft, and the event of its creation. allowsPrivateURL tells
// whether notify_url may name a host that is not on the internet. If the draft is invalid, the error names all wrong
// fields.
func NewTerminal(draft Terminal, allowsPrivateURL bool) (*Terminal, ledger.Event, error) {
	t, noParameters := &draft, new(Terminal)
	if err := t.check("directory.CreateTerminal", nil, noParameters, allowsPrivateURL, new(schema.Faults)); err != nil {
		return nil, ledger.Event{}, err
	}
	return t, createdEvent(ledger.Terminal, t.ID, stateOf(t.Active)), nil
}

// Patch returns a changed copy of the terminal, and the event of this change. A new object of parameters replaces the old
// one as a whole, except that the stored secret stays where the new object contains Mask. Partner, provider, type and
// environment never change, because pending charges depend on them. allowsPrivateURL tells whether a new notify_url may
// name a host that is not on the internet. If the change is invalid, the error names all wrong fields.
func (t *Terminal) Patch(change schema.Change[Terminal], allowsPrivateURL bool) (*Terminal, ledger.Event, error) {
	next, faults := *t, new(schema.Faults)
	change(&next, faults)
	if err := next.check("directory.PatchTerminal", t, t, allowsPrivateURL, faults); err != nil {
		return nil, ledger.Event{}, err
	}
	if Terminals.Equal(&next, t) {
		return t, ledger.Event{}, nil
	}
	action := switchAction(t.Active, next.Active)
	return &next, laterEvent(ledger.Terminal, t.ID, action, stateOf(t.Active), stateOf(next.Active)), nil
}

// check restores masked secrets and checks a terminal's fields. old is the terminal before the change, or nil if the
// terminal is new. stored is a terminal with the stored parameters. Parameters from a request are checked more strictly
// than stored ones (doc.go, invariant 5).
func (t *Terminal) check(op string, old, stored *Terminal, allowsPrivateURL bool, f *schema.Faults) error {
	setsProvider := old == nil || isSet(t.ProviderParams, old.ProviderParams)
	setsMerchant := old == nil || isSet(t.MerchantParams, old.MerchantParams)
	sentProvider, sentMerchant := normalParameters(t.ProviderParams), normalParameters(t.MerchantParams)
	t.ProviderParams, t.MerchantParams = restoreMasked(sentProvider, stored.ProviderParams), restoreMasked(sentMerchant, stored.MerchantParams)
	Terminals.Check(old, t, f)
	err := Join(FaultsAsRefusals(op, f), t.parseParams(op, setsProvider, setsMerchant))
	if old != nil && setsProvider {
		err = Join(err, old.checkCredential(op, sentProvider))
	}
	if setsMerchant {
		err = Join(err, t.checkNotifyURL(op, stored.Notification.NotifyURL, allowsPrivateURL), t.refuseEmptyMembers(op),
			t.checkChats(op, stored.Notification.Telegram))
	}
	return err
}

// isSet tells whether a request has set an object of parameters. It compares the addresses of the two slices, not their
// contents, so a request's object that equals the stored one counts as set. That matters because the object may contain the
// mask of a secret that could not be decrypted. Such a mask must be refused.
func isSet(request, stored []byte) bool {
	return len(request) != len(stored) || len(request) > 0 && &request[0] != &stored[0]
}

// parseParams parses the parameters. checksProvider and checksMerchant tell whether the request has set provider_params and
// merchant_params. An object from a request is checked more strictly than a stored one (doc.go, invariant 5).
func (t *Terminal) parseParams(op string, checksProvider, checksMerchant bool) error {
	if max(len(t.ProviderParams), len(t.MerchantParams)) > MaxParams { // the column's check has already refused an object that is too large
		return nil
	}
	err := t.Reparse()
	if checksProvider {
		err = Join(err, t.checkSettings(op), t.checkProvider(op), checkMasks(op, providerParams, t.ProviderParams, t.provider().secrets()...))
	}
	if checksMerchant {
		err = Join(err, checkMasks(op, merchantParams, t.MerchantParams))
	}
	return err
}

// Reparse fills Settings, Parameters, Server and Notification from the stored objects. If Settings or Notification cannot
// be parsed, the error names all their wrong fields. Faults in the adapter's own parameters are ignored.
func (t *Terminal) Reparse() error {
	var settingsErr, notificationErr error
	t.Settings, settingsErr = ParseSettings(t.ProviderParams)
	t.readProvider(new(schema.Faults))
	t.Notification, notificationErr = ParseNotification(t.MerchantParams)
	return Join(settingsErr, notificationErr)
}

// parametersColumn returns a column that contains an object of parameters. The column stores and shows masks in place of
// the secrets.
func parametersColumn(key uint8, name, help string) schema.TypedColumn[[]byte] {
	return schema.NewTypedColumn[[]byte](key, name, parametersKind{schema.KindObject}, []schema.Option{schema.Settable, schema.NotNull, schema.Help(help)})
}

// parametersKind is the kind of the columns that contain a terminal's parameters. Such a value is a []byte with the JSON
// object as written in the request.
type parametersKind struct{ schema.Kind }

// Empty implements schema.Kind.
func (parametersKind) Empty(value any) bool { return len(value.([]byte)) == 0 }

// Shape implements schema.Shaped.
func (parametersKind) Shape() schema.Shape { return schema.Document }

// Parse implements schema.Kind. It does not check the length, because Check does.
func (parametersKind) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	if raw[0] != '{' {
		return nil, "must be an object"
	}
	return raw, ""
}

// Check implements schema.Kind.
func (parametersKind) Check(_ *schema.Column, value any) string {
	if len(value.([]byte)) > MaxParams {
		return "is larger than " + strconv.Itoa(MaxParams) + " bytes"
	}
	return ""
}

// AppendStored implements schema.Kind.
func (k parametersKind) AppendStored(c *schema.Column, dst []byte, value any) []byte {
	return append(dst, Masked(value.([]byte))...)
}

// ReadStored implements schema.Kind.
func (parametersKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	return normalParameters(slices.Clone(stored)), true
}

// AppendJSON implements schema.Kind.
func (k parametersKind) AppendJSON(c *schema.Column, dst []byte, value any, style schema.Style) []byte {
	return k.Kind.AppendJSON(c, dst, []byte(Masked(value.([]byte))), style)
}

// Form implements schema.Kind. The form lists the members that all terminals have in common. The object may also contain
// parameters of the terminal's provider, which differ between providers, and unknown keys.
func (parametersKind) Form(c *schema.Column, _ schema.Use) schema.Form {
	members := NotificationColumns.RequestColumns()
	if c.Name == providerParams {
		members = SettingsColumns.RequestColumns()
	}
	return schema.Form{Type: "object", Members: members, Open: true}
}

// normalParameters returns an object of parameters in the form in which the record contains it. An empty object becomes
// nil, as if the request contained none.
func normalParameters(text []byte) []byte {
	if text = trimJSON(text); string(text) == "{}" {
		return nil
	}
	return text
}

// trimJSON removes the white space around a JSON text. It returns nil for an empty text and for null.
func trimJSON(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	return text
}
