package auditor

import (
	"net/url"

	"mizan/api/console/visit"
	"mizan/ledger/money"
)

// Paths of the API.
const (
	apiLedger      = "/api/v1/ledger/"
	apiTotals      = apiLedger + "totals"
	apiTrial       = apiLedger + "trial-balance"
	apiAccounts    = apiLedger + "accounts/"
	apiEntries     = apiLedger + "entries"
	apiEvents      = apiLedger + "events"
	apiHead        = apiLedger + "head"
	apiInclusion   = apiLedger + "proofs/inclusion"
	apiConsistency = apiLedger + "proofs/consistency"
	apiCheck       = apiLedger + "check"
	apiPeriods     = apiLedger + "periods"
	apiExport      = apiLedger + "export"
)

// The rows of the API's lists. Amounts are in minor units.
type (
	asset struct{ Currency, Network, Env string }

	totals struct {
		Asset          asset
		DebitsPosted   string `json:"debits_posted"`
		CreditsPosted  string `json:"credits_posted"`
		DebitsPending  string `json:"debits_pending"`
		CreditsPending string `json:"credits_pending"`
		Balance        string
		Since          *totals // the totals at the earlier moment; nil if the request names no such moment
	}

	accountRow struct {
		totals
		Account string
	}

	groupRow struct {
		totals
		Path string
	}

	statementLine struct {
		Seq                  int64
		Kind                 string // the API's word for the kind of the record
		Source, Side, Amount string
		Phase, Balance       string
		Name                 string `json:"event"`
		BookedAt             string `json:"booked_at"`
	}

	posting struct {
		Account, Side, Amount, Balance string
		Asset                          asset
	}

	entry struct {
		Phase         string
		EffectiveDate string `json:"effective_date"`
		Reverses      int64  // number of the reversed entry; 0 if none
		Closes        int64  // number of the entry whose hold ends; 0 if none
		Postings      []posting
	}

	entryRow struct {
		entry
		Seq      int64
		Kind     string
		Source   string
		Name     string `json:"event"`
		BookedAt string `json:"booked_at"`
	}

	author struct{ Kind, ID, Name string } // ID is empty if the kind has no record, Name if the record has no name

	event struct {
		Seq, Version     int64
		Author           author
		Kind             string
		Source, From, To string
		Name             string `json:"event"`
		BookedAt         string `json:"booked_at"`
		Entry            *entry // nil if no money moved
	}

	period struct {
		Month, Hash string
		ClosedAt    string `json:"closed_at"`
		ClosedBy    struct {
			Login string
		} `json:"closed_by"`
		Seq  int64
		Rows int
	}

	checkResult struct {
		At    string
		Rules []struct {
			Number  int `json:"rule"`
			Outcome string
			Name    string
		}
	}

	head struct {
		Size      int64  `json:"tree_size"`
		Root      string // in base64, like all bytes below
		Signature string
	}

	inclusion struct {
		Seq, Size  int64
		Leaf, Root string
		Path       []string `json:"proof"`
	}

	consistency struct {
		From, To int64
		FromRoot string   `json:"from_root"`
		ToRoot   string   `json:"to_root"`
		Path     []string `json:"proof"`
	}
)

// scale returns the asset's number of decimal places. If the number is unknown, isKnown is false: this is so, for example, if
// the asset has no network although its currency has networks.
func (a *asset) scale() (digits int, isKnown bool) {
	env, _ := money.ParseEnv(a.Env)
	return money.Asset{Currency: money.Currency(a.Currency), Network: money.Network(a.Network), Env: env}.Scale()
}

// IsBroken tells whether the check found that the store violates a rule.
func (r *checkResult) IsBroken() bool {
	for i := range r.Rules {
		if r.Rules[i].Outcome == "FAIL" {
			return true
		}
	}
	return false
}

// list is the API's response to a request for a list.
type list[T any] struct {
	Data   []T
	Cursor struct {
		Value string `json:"cursor_value"` // empty if there is no further page
	}
}

// readList reads a list of the API.
func readList[T any](v *visit.Visit, path string, query url.Values) (l list[T], err error) {
	return l, v.Get(path, query, &l)
}

// readData reads a response of the API and returns its field data.
func readData[T any](v *visit.Visit, path string, query url.Values) (data T, err error) {
	var answer struct{ Data T }
	err = v.Get(path, query, &answer)
	return answer.Data, err
}
