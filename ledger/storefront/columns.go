package storefront

import (
	"net/url"
	"strconv"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Parts of the public addresses.
const (
	LinkPath    = "/pay/l/"
	ProductPath = "/pay/p/"
	ImagePath   = "/images/"
	QRSuffix    = "/qr.svg"
	PNGSuffix   = "/qr.png"
)

// publicColumn makes the column of a public address.
func publicColumn[R any](name, help string, address func(*R) string) *schema.Column {
	return schema.Shown(schema.Text(0, name, schema.Constant, schema.Contextual, schema.NotNull, schema.Help(help)), func(r *R) (string, bool) { return address(r), true })
}

// addressColumn makes the column of an address to which a payer is sent.
func addressColumn[R any](key uint8, name, help string, fieldOf func(*R) *string) *schema.Column {
	return schema.Field(schema.Text(key, name, schema.Settable, schema.OneLine, schema.AtMost(directory.MaxURL), schema.Rule(addressRule), schema.Help(help)), fieldOf)
}

func addressRule(value any) string {
	u, err := url.Parse(value.(string))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || !schema.HasUsablePort(u) {
		return "must be an http or https address without credentials"
	}
	return ""
}

// emptyMessage refuses an empty text, so that it does not stand for the default.
const emptyMessage = "must not be empty"

// currencyColumn makes the column of a currency, which every record has.
func currencyColumn[R any](key uint8, fieldOf func(*R) *money.Currency, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.NewCell[string](key, "currency", columns.KindCurrency, append(options, schema.Required, schema.Help("currency code"))), fieldOf)
}

// networkColumn makes the column of a currency's network.
func networkColumn[R any](key uint8, fieldOf func(*R) *money.Network) *schema.Column {
	return schema.TextField(schema.Text(key, "network", schema.Settable,
		schema.Help("network of the currency; required if it is on several")), fieldOf)
}

// networkAfter returns the network of an asset after a change. The network of the former currency is removed, unless the
// new currency has that network too.
func networkAfter(old, next money.Asset) money.Network {
	if _, isKnown := next.Scale(); !isKnown && next.Currency != old.Currency && next.Network == old.Network {
		next.Network = ""
	}
	return columns.ResolveNetwork(next).Network
}

type namedAmount struct {
	name   string
	amount money.Amount
}

// checkAmounts refuses an asset without a scale, and amounts above MaxAmount. Faults name their fields with the
// prefix.
func checkAmounts(prefix string, asset money.Asset, f *schema.Faults, amounts ...namedAmount) {
	if asset.Currency == "" || !asset.Env.Valid() || f.Has(prefix+"currency") || f.Has(strings.TrimSuffix(prefix, ".")) {
		return
	}
	scale, isKnown := asset.Scale()
	if !isKnown {
		problem := "is no network of " + string(asset.Currency)
		if asset.Network == "" {
			problem = "is required: " + string(asset.Currency) + " is on several networks"
		}
		f.Add(prefix+"network", "%s", problem)
		return
	}
	limit := MaxAmount(scale)
	for _, a := range amounts {
		if limit.Less(a.amount) && !f.Has(prefix+a.name) {
			f.Add(prefix+a.name, "must be at most %v", limit)
		}
	}
}

// MaxAmount returns the largest amount of a link or a product: 10^15 minor units, or 10^9 major units where that is
// more.
func MaxAmount(scale int) money.Amount {
	const minorDigits, majorDigits = 15, 9
	a, err := money.Parse("1" + strings.Repeat("0", max(minorDigits, scale+majorDigits)))
	assert.NoError(err)
	return a
}

// Picture names an uploaded image.
type Picture struct {
	Name string // the last part of its address; empty: there is no image
	sent string // address in a request, which Resolve has not replaced yet
}

// PictureAt returns a picture with the address of a request, which Resolve replaces.
func PictureAt(address string) Picture { return Picture{sent: address} }

// pictureColumn makes the column of an image's address. Resolve turns the address of a request into the image's
// name, which pictureNameColumn stores, because the service's own address may change.
func pictureColumn[R any](fieldOf func(*R) (picture *Picture, base string)) *schema.Column {
	return schema.Bound(schema.Text(0, "image", schema.Settable, schema.Transient, schema.Contextual, schema.AtMost(directory.MaxURL), schema.Help("address of an uploaded image")),
		func(r *R) string {
			p, base := fieldOf(r)
			switch {
			case p.sent != "":
				return p.sent
			case p.Name == "":
				return ""
			}
			return base + ImagePath + p.Name
		},
		func(r *R, text string) {
			p, _ := fieldOf(r)
			*p = Picture{sent: text}
		})
}

func pictureNameColumn[R any](key uint8, fieldOf func(*R) *Picture) *schema.Column {
	return schema.Field(schema.Text(key, "image_name", schema.NotShown), func(r *R) *string { return &fieldOf(r).Name })
}

// Resolve replaces an address that a request has set by the image's name. find tells whether the organization has an
// image with a name; base is the scheme and host of public addresses.
func (p *Picture) Resolve(base string, find func(name string) bool, f *schema.Faults) {
	if p.sent == "" {
		return
	}
	name, isOurs := strings.CutPrefix(p.sent, base+ImagePath)
	if !isOurs || !find(name) {
		if !f.Has("image") {
			f.Add("image", "is not the address of an image that was uploaded here")
		}
		return
	}
	*p = Picture{Name: name}
}

// quantity parses a product's quantity. ok is false for a text that is not an integer from 1 to MaxQuantity.
func quantity(text string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n >= 1 && n <= MaxQuantity && strconv.FormatUint(n, 10) == text
}

// AddressKey returns the key of the claim (a unique key in the store) by which a record's address is found. The
// claim's owner is the organization that has the record.
func AddressKey(s ledger.Source) string { return string(s.Kind) + s.ID.String() }
