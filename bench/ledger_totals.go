package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"

	"mizan/bench/server"
)

// ledgerReader reads the ledger over HTTP, with the rights of the organization's auditor, so that a run can check the ledger's
// totals.
type ledgerReader struct {
	client  *http.Client
	baseURL string
	sandbox *server.Sandbox

	allPartners bool // all partners make payments, not only the sandbox's own partner
}

// accountRow is an element of the lists of accounts in the ledger's API: the totals of one account in one asset.
type accountRow struct {
	Account        string          `json:"account"`
	Asset          json.RawMessage `json:"asset"`
	DebitsPosted   decimal         `json:"debits_posted"`
	CreditsPosted  decimal         `json:"credits_posted"`
	DebitsPending  decimal         `json:"debits_pending"`
	CreditsPending decimal         `json:"credits_pending"`
}

// decimal is an amount: a string of digits.
type decimal struct{ big.Int }

// UnmarshalJSON implements json.Unmarshaler.
func (d *decimal) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if _, ok := d.SetString(text, 10); !ok {
		return fmt.Errorf("%q is no amount", text)
	}
	return nil
}

var errNotFound = errors.New("not found")

// eachRow reads a ledger list page by page and calls fn with each row.
func (a *ledgerReader) eachRow(ctx context.Context, path string, query url.Values, fn func(*accountRow) error) error {
	for {
		var page struct {
			Data   []accountRow `json:"data"`
			Cursor *struct {
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		if err := a.get(ctx, path+"?"+query.Encode(), &page); err != nil {
			return err
		}
		for i := range page.Data {
			if err := fn(&page.Data[i]); err != nil {
				return fmt.Errorf("bench: %s: %w", path, err)
			}
		}
		if page.Cursor == nil || page.Cursor.Value == nil || len(page.Data) == 0 {
			return nil
		}
		query.Set("cursor", *page.Cursor.Value)
	}
}

func (a *ledgerReader) get(ctx context.Context, path string, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.baseURL+"/api/v1"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.sandbox.AuditorToken)
	request.Header.Set("x-organization-id", a.sandbox.OrganizationID)
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(response.Body).Decode(result)
	case http.StatusNotFound:
		return errNotFound
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return fmt.Errorf("bench: GET %s: HTTP %d: %s", path, response.StatusCode, text)
}

// pageSize is the largest page of the ledger's lists.
const pageSize = "500"

// ledgerTotals are the totals of the ledger accounts that a run of payments changes. A partner has two such accounts, and
// their totals are added up. The first account records what the institution owes the partner. The second account records what
// the partner owes the institution, because a fee may be more than the payment's amount.
type ledgerTotals struct {
	credits    big.Int             // posted credits of the accounts of the partner, or of all partners
	debits     big.Int             // posted debits of the same accounts
	provider   big.Int             // posted debits of the provider accounts of all terminals without a fee rule
	byTerminal map[string]*big.Int // posted debits of the provider account of each terminal in feeRules
	fees       big.Int             // posted credits of the fees account
}

// providerOf returns a copy of the total of one terminal's provider account.
func (b *ledgerTotals) providerOf(terminal string) *big.Int {
	if total := b.byTerminal[terminal]; total != nil {
		return new(big.Int).Set(total)
	}
	return new(big.Int)
}

// readBooks reads the current totals of the accounts in the currency and environment of the bench's payments.
func (a *ledgerReader) readBooks(ctx context.Context, rules feeRules) (*ledgerTotals, error) {
	b := &ledgerTotals{byTerminal: make(map[string]*big.Int)}
	addPartner := func(r *accountRow) error {
		if strings.HasSuffix(r.Account, ":available") || strings.HasSuffix(r.Account, ":receivable") {
			b.credits.Add(&b.credits, &r.CreditsPosted.Int)
			b.debits.Add(&b.debits, &r.DebitsPosted.Int)
		}
		return nil
	}
	addProvider := func(r *accountRow) error {
		id := strings.TrimPrefix(r.Account, providerPrefix)
		if rules[id] != nil {
			b.byTerminal[id] = new(big.Int).Set(&r.DebitsPosted.Int)
		} else {
			b.provider.Add(&b.provider, &r.DebitsPosted.Int)
		}
		return nil
	}
	addFees := func(r *accountRow) error { b.fees.Add(&b.fees, &r.CreditsPosted.Int); return nil }
	var err error
	if a.allPartners {
		err = errors.Join(a.eachAccount(ctx, "", "L:partner:", addPartner), a.eachAccount(ctx, "", "A:partner:", addPartner))
	} else {
		err = errors.Join(a.eachAccount(ctx, fmt.Sprintf("/L:partner:%d:available", a.sandbox.PartnerID), "", addPartner),
			a.eachAccount(ctx, fmt.Sprintf("/A:partner:%d:receivable", a.sandbox.PartnerID), "", addPartner))
	}
	return b, errors.Join(err, a.eachAccount(ctx, "", providerPrefix, addProvider), a.eachAccount(ctx, "/I:fees", "", addFees))
}

const providerPrefix = "A:provider:"

// eachAccount calls fn with the totals of the account at path, or of all accounts whose names begin with prefix. It reads only
// totals in the currency and environment of the bench's payments. An account without any entry does not exist, so a missing
// account is no error.
func (a *ledgerReader) eachAccount(ctx context.Context, path, prefix string, fn func(*accountRow) error) error {
	query := url.Values{"env": {paymentEnv}, "currency": {paymentCurrency}, "limit": {pageSize}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	if err := a.eachRow(ctx, "/ledger/accounts"+path, query, fn); !errors.Is(err, errNotFound) {
		return err
	}
	return nil
}

// checkTrialBalance checks the trial balance: in each asset, the posted debits must equal the posted credits, and the pending
// debits must equal the pending credits. It returns the number of accounts.
func (a *ledgerReader) checkTrialBalance(ctx context.Context) (accounts int, err error) {
	type sums struct{ posted, pending big.Int }
	assets := make(map[string]*sums)
	err = a.eachRow(ctx, "/ledger/trial-balance", url.Values{"env": {paymentEnv}, "limit": {pageSize}}, func(r *accountRow) error {
		s := assets[string(r.Asset)]
		if s == nil {
			s = new(sums)
			assets[string(r.Asset)] = s
		}
		accounts++
		s.posted.Add(&s.posted, &r.DebitsPosted.Int).Sub(&s.posted, &r.CreditsPosted.Int)
		s.pending.Add(&s.pending, &r.DebitsPending.Int).Sub(&s.pending, &r.CreditsPending.Int)
		return nil
	})
	if err != nil {
		return 0, err
	}
	for asset, s := range assets {
		if s.posted.Sign() != 0 || s.pending.Sign() != 0 {
			return 0, fmt.Errorf("bench: the trial balance of %s is off: debits less credits are %v posted and %v pending", asset, &s.posted, &s.pending)
		}
	}
	if accounts == 0 {
		return 0, fmt.Errorf("bench: the trial balance is empty")
	}
	return accounts, nil
}
