package money

import (
	"slices"
	"unicode/utf8"
)

// scaleRow sets the number of decimals of an asset. A row without an environment applies to both environments. A row with
// an environment overrides that row for its environment.
type scaleRow struct {
	currency Currency
	network  Network
	env      Env
	digits   int
}

// scaleTable is the only source for the number of decimals of an asset. The number depends on currency, network and
// environment, not on the currency alone (specification "Money rules" 2). For fiat currencies it comes from ISO 4217.
var scaleTable = []scaleRow{
	// Transaction currencies, in the specification's order.
	{"RUB", "", 0, 2},
	{"UAH", "", 0, 2},
	{"AZN", "", 0, 2},
	{"USD", "", 0, 2},
	{"EUR", "", 0, 2},
	{"GBP", "", 0, 2},
	{"CHF", "", 0, 2},
	{"TRY", "", 0, 2},
	{"KZT", "", 0, 2},
	{"CAD", "", 0, 2},
	{"SGD", "", 0, 2},
	{"IDR", "", 0, 2},
	{"RUBT", "", 0, 6},
	{"USDT", "tron", 0, 6},
	{"USDT", "ethereum", 0, 6},
	{"USDT", "bsc", 0, 18},
	{"USDT", "ton", 0, 6},
	{"USDC", "ethereum", 0, 6},
	{"USDC", "solana", 0, 6},
	{"USDC", "bsc", 0, 18},
	{"EURT", "", 0, 6},
	{"ETH", "ethereum", 0, 18},
	{"TRX", "tron", 0, 6},
	{"TON", "ton", 0, 9},
	{"ZOLT", "", 0, 8},

	// Contract currencies that transactions don't accept.
	{"AED", "", 0, 2},
	{"SAR", "", 0, 2},
	{"BHD", "", 0, 3},
	{"QAR", "", 0, 2},
	{"KWD", "", 0, 3},
	{"OMR", "", 0, 3},
	{"MYR", "", 0, 2},
	{"PKR", "", 0, 2},
	{"BDT", "", 0, 2},
	{"EGP", "", 0, 2},
	{"JOD", "", 0, 3},
	{"UZS", "", 0, 2},
	{"KGS", "", 0, 2},
}

// transactionCurrencies is the closed set of currencies that transactions accept (specification,
// "Currencies and network").
var transactionCurrencies = []Currency{
	"RUB", "UAH", "AZN", "USD", "EUR", "GBP", "CHF", "TRY", "KZT", "CAD", "SGD", "IDR",
	"RUBT", "USDT", "USDC", "EURT", "ETH", "TRX", "TON", "ZOLT",
}

// Maps for look-ups in the two tables above.
var (
	scales         = indexScales(scaleTable)
	onlyNetworks   = indexOnlyNetworks(scaleTable)
	currencies     = indexCurrencies(scaleTable)
	networks       = indexNetworks(scaleTable)
	acceptedByCode = indexAccepted(transactionCurrencies)
)

// MaxScale is the largest scale that Convert accepts. Every scale in scaleTable is smaller.
const MaxScale = 36

// Scale returns the asset's number of decimals. ok is false if the asset is not in the table, for example because its network
// is missing, or if its environment is invalid.
func (a Asset) Scale() (digits int, ok bool) {
	if !a.Env.IsValid() {
		return 0, false
	}
	if digits, ok = scales[a]; !ok {
		a.Env = 0
		digits, ok = scales[a]
	}
	return digits, ok
}

// AcceptedCurrency tells whether transactions accept the currency code, which must be in upper case. The returned Currency
// doesn't alias code.
func AcceptedCurrency(code string) (Currency, bool) {
	c, ok := acceptedByCode[code]
	return c, ok
}

// UnsupportedCurrencyMessage returns the error message of the specification for a currency that is not accepted. The message
// contains at most the first 32 bytes of the code.
func UnsupportedCurrencyMessage(code []byte) string {
	const maxShown = 32
	if len(code) > maxShown {
		code = code[:maxShown]
		for len(code) > 0 && !utf8.Valid(code) {
			code = code[:len(code)-1]
		}
	}
	return "unsupported currency " + string(code)
}

// AcceptedCurrencies returns the transaction currencies in the specification's order.
func AcceptedCurrencies() []Currency { return slices.Clone(transactionCurrencies) }

// AcceptedAssets returns all assets of an environment that a transaction can name and that have a scale, in the order of
// the table. It returns none if the environment is invalid.
func AcceptedAssets(env Env) []Asset {
	if !env.IsValid() {
		return nil
	}
	var assets []Asset
	for _, row := range scaleTable {
		if _, ok := acceptedByCode[string(row.currency)]; ok && (row.env == 0 || row.env == env) {
			asset := Asset{Currency: row.currency, Network: row.network, Env: env}
			if !slices.Contains(assets, asset) {
				assets = append(assets, asset)
			}
		}
	}
	return assets
}

// ResolveNetwork returns n if it is not empty, and otherwise the currency's only network (ethereum for ETH, tron for TRX,
// ton for TON). If the currency has no network or more than one, the result is empty.
func ResolveNetwork(c Currency, n Network) Network {
	if n == "" {
		return onlyNetworks[c]
	}
	return n
}

func indexScales(table []scaleRow) map[Asset]int {
	index := make(map[Asset]int, len(table))
	for _, row := range table {
		index[Asset{row.currency, row.network, row.env}] = row.digits
	}
	return index
}

func indexOnlyNetworks(table []scaleRow) map[Currency]Network {
	index := make(map[Currency]Network)
	for _, row := range table {
		if seen, ok := index[row.currency]; ok && seen != row.network {
			index[row.currency] = "" // several networks: the caller has to choose one
			continue
		}
		index[row.currency] = row.network
	}
	return index
}

func indexCurrencies(table []scaleRow) map[string]Currency {
	index := make(map[string]Currency)
	for _, row := range table {
		index[string(row.currency)] = row.currency
	}
	return index
}

func indexNetworks(table []scaleRow) map[string]Network {
	index := make(map[string]Network)
	for _, row := range table {
		index[string(row.network)] = row.network
	}
	return index
}

func indexAccepted(codes []Currency) map[string]Currency {
	index := make(map[string]Currency, len(codes))
	for _, code := range codes {
		index[string(code)] = code
	}
	return index
}

// internCurrency returns the table's own string for a known currency, so that parsing a stored asset doesn't allocate.
func internCurrency(name []byte) Currency {
	if c, ok := currencies[string(name)]; ok {
		return c
	}
	return Currency(name)
}

// internNetwork returns the table's own string for a known network, so that parsing a stored asset doesn't allocate.
func internNetwork(name []byte) Network {
	if n, ok := networks[string(name)]; ok {
		return n
	}
	return Network(name)
}
