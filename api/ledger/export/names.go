package export

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// decimal appends an amount in major units with all digits of the scale: 5 with scale 2 is
// "0.05".
func decimal(dst []byte, a money.Amount, scale int) []byte {
	var digits [money.MaxDigits]byte
	minor := a.AppendDecimal(digits[:0])
	if scale == 0 {
		return append(dst, minor...)
	}
	point := len(minor) - scale
	if point <= 0 {
		dst = append(dst, "0."...)
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, minor...)
	}
	dst = append(dst, minor[:point]...)
	dst = append(dst, '.')
	return append(dst, minor[point:]...)
}

// signed appends an amount like decimal, and puts a minus sign before credits, which are negative in plain text accounting.
func signed(dst []byte, a money.Amount, scale int, side ledger.Side) []byte {
	if side == ledger.Credit {
		dst = append(dst, '-')
	}
	return decimal(dst, a, scale)
}

// commodity is an asset's name and scale in a format. If the asset's network is missing, the number of decimals is unknown, and
// amounts are exported in minor units, which are whole numbers. Such assets are valid, so they must be exported.
type commodity struct {
	asset    money.Asset
	name     string
	scale    int // decimals; 0 for minor units
	hasScale bool
}

// inMinorUnits is the remark beside a commodity whose number of decimals is unknown.
const inMinorUnits = "amounts are in minor units: how many decimals it has is not known"

// commodities collects the assets that have occurred so far in an export, with their names in the export's format.
type commodities struct {
	name       func(money.Asset) (string, error)
	seen       map[money.Asset]commodity
	assetNamed map[string]money.Asset
}

func newCommodities(name func(money.Asset) (string, error)) *commodities {
	return &commodities{name: name, seen: make(map[money.Asset]commodity), assetNamed: make(map[string]money.Asset)}
}

// lookup returns the asset's commodity. It returns an error if the asset has no name in the format, or if another asset already
// has the same name.
func (c *commodities) lookup(a money.Asset) (commodity, error) {
	if known, ok := c.seen[a]; ok {
		return known, nil
	}
	name, err := c.name(a)
	if err != nil {
		return commodity{}, err
	}
	if other, taken := c.assetNamed[name]; taken {
		return commodity{}, fmt.Errorf("export: assets %v and %v are both %s", other, a, name)
	}
	found := commodity{asset: a, name: name}
	found.scale, found.hasScale = a.Scale()
	c.seen[a], c.assetNamed[name] = found, a
	return found, nil
}

// byName returns the commodities that have occurred, ordered by name.
func (c *commodities) byName() []commodity {
	return slices.SortedFunc(maps.Values(c.seen), func(a, b commodity) int { return strings.Compare(a.name, b.name) })
}

// hledgerName returns an asset's commodity in hledger, in quotes: the currency, the network if it has one, and the environment
// if it is not prod. The number of slashes shows which part is which, so no two assets share a name: "USD", "USDT/tron",
// "USD//test".
func hledgerName(a money.Asset) (string, error) {
	name := string(a.Currency)
	if strings.ContainsAny(name+string(a.Network), "/\";\r\n") {
		return "", fmt.Errorf("export: hledger takes no commodity for asset %v", a)
	}
	switch {
	case a.Env != money.Prod:
		name += "/" + string(a.Network) + "/" + a.Env.String()
	case a.Network != "":
		name += "/" + string(a.Network)
	}
	return `"` + name + `"`, nil
}

// Patterns of the commodities that beancount accepts, and of the currencies and networks from which their names are built.
// Networks contain no capital letters, so two different networks stay different when they are written in capitals.
const beancountLength = 24

var (
	beancountCommodity = regexp.MustCompile(`^[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]$`)
	beancountCurrency  = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,7}$`)
	beancountNetwork   = regexp.MustCompile(`^[a-z0-9_-]*$`)
)

// beancountName returns an asset's commodity in beancount, which allows capital letters only: "USD", "USDT.TRON", "USD'TEST". A
// network may be too long for a beancount name, or end with a character that is not allowed at the end of a name. The name is
// then the currency, an underscore, and the beginning of a hash of currency, network and environment. No other name has an
// underscore after the currency. The name contains at least 75 bits of the hash, and 95 bits if the currency has four letters.
func beancountName(a money.Asset) (string, error) {
	if !beancountCurrency.MatchString(string(a.Currency)) {
		return "", fmt.Errorf("export: beancount takes no commodity for asset %v", a)
	}
	name := string(a.Currency)
	if a.Network != "" {
		name += "." + strings.ToUpper(string(a.Network))
	}
	if a.Env != money.Prod {
		name += "'" + strings.ToUpper(a.Env.String())
	}
	if beancountNetwork.MatchString(string(a.Network)) && beancountCommodity.MatchString(name) {
		return name, nil
	}
	sum := sha256.Sum256([]byte(a.String()))
	name = string(a.Currency) + "_" + base32.StdEncoding.EncodeToString(sum[:])
	return name[:beancountLength], nil
}

// containsHash tells whether a beancount name contains a hash. Such a name does not show the asset's network.
func containsHash(name string) bool {
	currency, _, _ := strings.Cut(name, ".")
	return strings.Contains(currency, "_")
}

// beancountRoots are the root accounts for each class in beancount. Beancount allows only five roots, so quasi-equity and
// memorandum accounts share one; their second segments differ.
var beancountRoots = map[ledger.Class]string{
	ledger.ClassAsset:       "Assets",
	ledger.ClassLiability:   "Liabilities",
	ledger.ClassQuasiEquity: "Equity:Quasi",
	ledger.ClassIncome:      "Income",
	ledger.ClassExpense:     "Expenses",
	ledger.ClassMemorandum:  "Equity:Memorandum",
}

// beancountPending is the root of the accounts for holds. The letter of the account's class follows it.
const beancountPending = "Equity:Pending"

// escapeRune begins the replacement of a byte that beancount does not accept at its place. Two hexadecimal digits follow. The
// character Ξ is a capital letter, so a segment may begin with it, and no path contains it.
const escapeRune = "Ξ"

// regionCode matches a segment that is a region's code, which beancount accepts unchanged. In the names of other segments the
// second character is never a capital letter.
var regionCode = regexp.MustCompile(`^[A-Z]{2}[A-Z0-9-]*$`)

// beancountAccount returns a path's name in beancount. In beancount, a segment must begin with a capital letter or a digit and
// must not contain an underscore, so "accumulated_depreciation" becomes "AccumulatedDepreciation". Other characters are
// escaped, so that each name stands for only one path.
func beancountAccount(path ledger.Path, pending bool) string {
	return string(appendBeancountAccount(nil, path, pending))
}

func appendBeancountAccount(dst []byte, path ledger.Path, pending bool) []byte {
	if pending {
		dst = append(dst, beancountPending...)
		dst = append(dst, ':', byte(path.Class()))
	} else {
		dst = append(dst, beancountRoots[path.Class()]...)
	}
	for segment := range strings.SplitSeq(string(path[2:]), ":") {
		dst = appendSegment(append(dst, ':'), segment)
	}
	return dst
}

func appendSegment(dst []byte, s string) []byte {
	if len(s) > 1 && s[0] <= 'Z' && regionCode.MatchString(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		lower := c >= 'a' && c <= 'z'
		switch {
		case lower && i == 0:
			dst = append(dst, c-'a'+'A')
		case c == '_' && i > 1 && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z':
			i++
			dst = append(dst, s[i]-'a'+'A')
		case lower, c >= '0' && c <= '9', c == '-' && i > 0:
			dst = append(dst, c)
		default:
			dst = fmt.Appendf(dst, "%s%02x", escapeRune, c)
		}
	}
	return dst
}

// oneLine returns the text for use within a line of plain text accounting. Characters that would end the line or begin a
// comment become spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == ';' || r == '|' {
			return ' '
		}
		return r
	}, s)
}

// kinds are the words for the kinds of records.
var kinds = map[ledger.Kind]string{
	ledger.Transaction:  "transaction",
	ledger.Settlement:   "settlement",
	ledger.Contract:     "contract",
	ledger.Transfer:     "transfer",
	ledger.Partner:      "partner",
	ledger.Subscription: "subscription",
	ledger.Platform:     "platform",
	ledger.Organization: "organization",
}

// kindOf returns the word for a kind of record, or the kind's letter if there is no word.
func kindOf(k ledger.Kind) string {
	if word, ok := kinds[k]; ok {
		return word
	}
	return string(rune(k))
}
