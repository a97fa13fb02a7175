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

// auditor reads the ledger over HTTP, with the rights of the organization's auditor.
type auditor struct {
	client  *http.Client
	baseURL string
	sandbox *server.Sandbox

	allPartners bool // all partners make payments, not only the sandbox's own partner
}

// row is a row of the auditor's lists: the totals of an account in one asset.
type row struct {
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

// eachRow calls fn with the rows of a ledger list, page by page.
func (a *auditor) eachRow(ctx context.Context, path string, query url.Values, fn func(*row) error) error {
	for {
		var page struct {
			Data   []row `json:"data"`
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

func (a *auditor) get(ctx context.Context, path string, result any) error {
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

// books are the ledger's totals that a run of payments changes.
type books struct {
	available big.Int // posted credits of the partner's available account, or of the accounts of all partners
	provider  big.Int // posted debits of all provider accounts
}

// readBooks reads the current totals, in the asset of the payments.
func (a *auditor) readBooks(ctx context.Context) (*books, error) {
	b := new(books)
	path := fmt.Sprintf("/ledger/accounts/L:partner:%d:available", a.sandbox.PartnerID)
	query := url.Values{"env": {"prod"}, "currency": {paymentCurrency}, "limit": {pageSize}}
	if a.allPartners {
		path = "/ledger/accounts"
		query.Set("prefix", "L:partner:")
	}
	err := a.eachRow(ctx, path, query, func(r *row) error {
		if strings.HasSuffix(r.Account, ":available") {
			b.available.Add(&b.available, &r.CreditsPosted.Int)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNotFound) {
		return nil, err
	}
	query = url.Values{"env": {"prod"}, "currency": {paymentCurrency}, "prefix": {"A:provider:"}, "limit": {pageSize}}
	return b, a.eachRow(ctx, "/ledger/accounts", query, func(r *row) error {
		b.provider.Add(&b.provider, &r.DebitsPosted.Int)
		return nil
	})
}

// checkCharged checks that the totals have risen by the amounts of all charged payments, of which there are
// count. before has the totals before the run.
func (b *books) checkCharged(before *books, count uint64) error {
	want := new(big.Int).Mul(new(big.Int).SetUint64(count), big.NewInt(paymentAmount))
	available := new(big.Int).Sub(&b.available, &before.available)
	provider := new(big.Int).Sub(&b.provider, &before.provider)
	if available.Cmp(want) != 0 || provider.Cmp(want) != 0 {
		return fmt.Errorf("bench: %d payments of %d were charged, %v in all, but the partner's available account has risen by %v and the providers' by %v",
			count, paymentAmount, want, available, provider)
	}
	return nil
}

// checkTrialBalance checks the trial balance: debits equal credits in each asset, posted and pending. It
// returns the number of accounts.
func (a *auditor) checkTrialBalance(ctx context.Context) (accounts int, err error) {
	type sums struct{ posted, pending big.Int }
	assets := make(map[string]*sums)
	err = a.eachRow(ctx, "/ledger/trial-balance", url.Values{"env": {"prod"}, "limit": {pageSize}}, func(r *row) error {
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
