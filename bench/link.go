package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"mizan/bench/generator"
)

// linkWorkload is the workload that always GETs the page of the same payment link. Like a payer, it sends no API key.
type linkWorkload struct{ requestBytes []byte }

// newLinkWorkload creates a payment link with three products. Each request has an Idempotency-Key, so that a second run on
// the same data uses the same link.
func (r *serverRun) newLinkWorkload(ctx context.Context) (*linkWorkload, error) {
	o := &operator{client: r.auditor.client, sandbox: &r.sandbox}
	create := func(path, key string, body map[string]any) string {
		var created struct {
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		body["partner_id"], body["env"] = r.sandbox.PartnerID, "test"
		o.idempotencyKey = "bench-" + key
		o.do(ctx, http.MethodPost, path, r.sandbox.OrganizationID, body, &created)
		return created.Data.ID
	}
	var products []string
	for i := range 3 {
		products = append(products, create("/products", "product-"+strconv.Itoa(i+1), map[string]any{
			"header": "A product", "text": "Of a link for a load test.", "price": paymentAmount, "currency": paymentCurrency,
		}))
	}
	id := create("/links", "link", map[string]any{
		"name": "A link", "description": "A link for a load test.", "products": products, "amount_type": "fixed",
		"amount": map[string]any{"default": 3 * paymentAmount, "currency": paymentCurrency}, "pay_config": map[string]any{},
	})
	if o.err != nil {
		return nil, fmt.Errorf("bench: link: %w", o.err)
	}
	return &linkWorkload{fmt.Appendf(nil, "GET /pay/l/%s HTTP/1.1\r\nHost: %s\r\n\r\n", id, r.dialer.Host())}, nil
}

func (l *linkWorkload) job() generator.Job { return l }

// Request implements generator.Job.
func (l *linkWorkload) Request(uint64) []byte { return l.requestBytes }

var formTag = []byte(`<form method="post"`)

// Check implements generator.Job. The response must be a page with a form.
func (l *linkWorkload) Check(_ uint64, a *generator.Response) string {
	switch {
	case a.Status != 200:
		return "HTTP " + strconv.Itoa(a.Status)
	case !bytes.Contains(a.Body, formTag):
		return "no form"
	}
	return ""
}

// OnLost implements generator.Job. A lost answer to a read needs no follow-up, because a read changes nothing.
func (l *linkWorkload) OnLost(uint64) {}
