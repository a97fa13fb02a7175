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

// Paths and suffixes of the public addresses (URLs) of links, products and images.
const (
	LinkPath    = "/pay/l/"
	ProductPath = "/pay/p/"
	ImagePath   = "/images/"
	QRSuffix    = "/qr.svg"
	PNGSuffix   = "/qr.png"
)

// publicColumn returns the column of a public address (URL).
func publicColumn[R any](name, help string, address func(*R) string) *schema.Column {
	return schema.ComputedField(schema.Text(0, name, schema.ReadOnlyFixed, schema.Contextual, schema.NotNull, schema.Help(help)), func(r *R) (string, bool) { return address(r), true })
}

// addressColumn returns the column of a URL to which the payer's browser is redirected.
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

// emptyMessage is the error message for an empty text in a column with a default. Without such a message, an empty text would
// count as absent, and the default would be used.
const emptyMessage = "must not be empty"

// currencyColumn returns the column of a currency. Every record must have a currency.
func currencyColumn[R any](key uint8, fieldOf func(*R) *money.Currency, options ...schema.Option) *schema.Column {
	return schema.TextField(schema.NewTypedColumn[string](key, "currency", columns.KindCurrency, append(options, schema.Required, schema.Help("currency code"))), fieldOf)
}

// networkColumn returns the column of the network on which the currency is used.
func networkColumn[R any](key uint8, fieldOf func(*R) *money.Network) *schema.Column {
	return schema.TextField(schema.Text(key, "network", schema.Settable,
		schema.Help("network of the currency; required if the currency is on several networks")), fieldOf)
}

// networkAfter returns the network of an asset after a change from old to next. If the change sets a new currency that does not
// exist on the old network, and sets no new network, the old network is removed. If next then has no network and its currency
// exists on only one, networkAfter returns that network.
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

// checkAmounts adds a fault if the currency does not exist on the asset's network, and for each amount above MaxAmount. A
// fault's field is the prefix followed by the amount's name, or by "network".
func checkAmounts(prefix string, asset money.Asset, f *schema.Faults, amounts ...namedAmount) {
	if asset.Currency == "" || !asset.Env.IsValid() || f.Has(prefix+"currency") || f.Has(strings.TrimSuffix(prefix, ".")) {
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

// MaxAmount returns the largest amount that a link or a product may have, in minor units of an asset with this scale (number of
// decimals). It is 10^15 minor units or 10^9 major units, whichever is more.
func MaxAmount(scale int) money.Amount {
	const minorDigits, majorDigits = 15, 9
	a, err := money.Parse("1" + strings.Repeat("0", max(minorDigits, scale+majorDigits)))
	assert.NoError(err)
	return a
}

// Picture refers to the uploaded image that a link or a product shows.
type Picture struct {
	Name string // last part of the image's address; empty if there is no image
	sent string // the image's whole address, from a request; Resolve replaces it with Name
}

// PictureAt returns a picture with the address that a request has sent. Resolve must be called afterwards.
func PictureAt(address string) Picture { return Picture{sent: address} }

// pictureColumn returns the column of an image's address. The address is not stored, because the service's own address may
// change: Resolve replaces it with the image's name, which is stored in the column of pictureNameColumn.
func pictureColumn[R any](fieldOf func(*R) (picture *Picture, base string)) *schema.Column {
	return schema.BoundField(schema.Text(0, "image", schema.Settable, schema.Transient, schema.Contextual, schema.AtMost(directory.MaxURL), schema.Help("address of an uploaded image")),
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

// Resolve replaces the address from a request with the image's name. It adds a fault if no uploaded image has this address.
// find tells whether the organization has an image with the name. base is the scheme and host of public addresses.
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

// quantity parses a product's quantity. If the text is not an integer from 1 to MaxQuantity, ok is false.
func quantity(text string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n >= 1 && n <= MaxQuantity && strconv.FormatUint(n, 10) == text
}

// AddressKey returns the key of the claim (a unique key in the store) for a record's public address. The claim's owner is the
// record's organization, so the store can find the organization by the address.
func AddressKey(s ledger.Source) string { return string(s.Kind) + s.ID.String() }
