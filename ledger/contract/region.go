package contract

import "mizan/ledger/money"

// ChartVersion is the version of the charts of accounts that regions have.
const ChartVersion = 1

// RegionRow is a region in which contracts are made.
type RegionRow struct {
	Code        string // ISO 3166-1 alpha-2
	Name        string
	Currency    money.Currency // where none is asked for
	DualBanking bool           // both readings are at home there
}

// regions are all of them, in the order in which they are shown.
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

// Regions are the regions by their codes; Currencies are those that contracts are
// made in: theirs, and two more.
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

// Currencies are those that contracts are made in there.
func (r RegionRow) Currencies() []string {
	all := []string{string(r.Currency)}
	for _, other := range []string{"USD", "EUR"} {
		if other != all[0] {
			all = append(all, other)
		}
	}
	return all
}

// AllRegions are the regions in the order in which they are shown.
func AllRegions() []RegionRow { return append([]RegionRow(nil), regions...) }
