package contract

import "mizan/ledger/money"

// ChartVersion is the version of the charts of accounts. Each region has one chart.
const ChartVersion = 1

// RegionRow describes a region in which contracts can be made.
type RegionRow struct {
	Code        string // ISO 3166-1 alpha-2
	Name        string
	Currency    money.Currency // used if the request names no currency
	DualBanking bool           // both secular and religious banks operate in the region
}

// regions lists all regions in the order in which they are shown.
var regions = []RegionRow{
	{"AE", "United Arab Emirates", "AED", true},
	{"SA", "Saudi Arabia", "SAR", false},
	{"BH", "Bahrain", "BHD", true},
	{"QA", "Qatar", "QAR", false},
	{"KW", "Kuwait", "KWD", false},
	{"OM", "Oman", "OMR", false},
	{"MY", "Malaysia", "MYR", true},
	{"ID", "Indonesia", "IDR", true},
	{"PK", "Pakistan", "PKR", true},
	{"BD", "Bangladesh", "BDT", true},
	{"EG", "Egypt", "EGP", false},
	{"JO", "Jordan", "JOD", false},
	{"TR", "Türkiye", "TRY", true},
	{"KZ", "Kazakhstan", "KZT", true},
	{"UZ", "Uzbekistan", "UZS", true},
	{"AZ", "Azerbaijan", "AZN", false},
	{"KG", "Kyrgyzstan", "KGS", false},
	{"RU", "Russia", "RUB", true},
	{"GB", "United Kingdom", "GBP", false},
}

// Regions maps codes to regions. Currencies contains the currencies in which contracts can be made: the currencies of the
// regions, USD and EUR.
var (
	Regions    = make(map[string]RegionRow)
	Currencies = map[money.Currency]bool{"USD": true, "EUR": true}
)

func init() {
	for _, r := range regions {
		Regions[r.Code] = r
		Currencies[r.Currency] = true
	}
}

// Currencies returns the currencies in which contracts can be made in the region. The region's own currency comes first.
func (r RegionRow) Currencies() []string {
	currencies := []string{string(r.Currency)}
	for _, common := range []string{"USD", "EUR"} {
		if common != currencies[0] {
			currencies = append(currencies, common)
		}
	}
	return currencies
}

// AllRegions returns the regions in the order in which they are shown.
func AllRegions() []RegionRow { return append([]RegionRow(nil), regions...) }
