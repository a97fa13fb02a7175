package stripestub

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

// stripeClient returns Stripe's own client for a stub, without repetitions.
func stripeClient(s *Stub) *stripe.Client {
	return stripe.NewClient(DefaultSecretKey, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: stripe.String(s.URL), MaxNetworkRetries: stripe.Int64(0), EnableTelemetry: stripe.Bool(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
}

// must returns a value, or fails the test.
func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// all reads a list over all pages.
func all[T any](t *testing.T, list *stripe.V1List[T]) (rows []T) {
	t.Helper()
	for row, err := range list.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// receiver is an endpoint that checks events with Stripe's own code.
func receiver(t *testing.T, secret string) (url string, types *[]string) {
	types = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := webhook.ConstructEvent(body, r.Header.Get("Stripe-Signature"), secret)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		*types = append(*types, string(e.Type))
	}))
	t.Cleanup(server.Close)
	return server.URL, types
}

// A payment with 3-D Secure and manual capture, its refund and its dispute, by Stripe's own client.
func TestStripesClient(t *testing.T) {
	f := start(t, Options{RawCards: true})
	ctx, c := context.Background(), stripeClient(f.Stub)
	address, types := receiver(t, "whsec_1")
	hook := f.AddWebhook(address, "whsec_1", nil)

	method := must[*stripe.PaymentMethod](t)(c.V1PaymentMethods.Create(ctx, &stripe.PaymentMethodCreateParams{
		Type: stripe.String("card"),
		Card: &stripe.PaymentMethodCreateCardParams{Number: stripe.String("4000002760003184"), ExpMonth: stripe.Int64(12), ExpYear: stripe.Int64(2031), CVC: stripe.String("123")},
	}))
	if method.Card.Last4 != "3184" || method.Card.Brand != stripe.PaymentMethodCardBrandVisa {
		t.Errorf("card %+v", method.Card)
	}
	params := &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(5000), Currency: stripe.String("usd"), CaptureMethod: stripe.String("manual"),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}), Metadata: map[string]string{"reference": "r1"},
	}
	params.SetIdempotencyKey("create-r1")
	in := must[*stripe.PaymentIntent](t)(c.V1PaymentIntents.Create(ctx, params))
	if in.Status != stripe.PaymentIntentStatusRequiresPaymentMethod {
		t.Fatalf("created with status %s", in.Status)
	}
	in = must[*stripe.PaymentIntent](t)(c.V1PaymentIntents.Confirm(ctx, in.ID, &stripe.PaymentIntentConfirmParams{
		PaymentMethod: stripe.String(method.ID), ReturnURL: stripe.String("https://shop.example/back?order=7"),
	}))
	if in.Status != stripe.PaymentIntentStatusRequiresAction || in.NextAction.RedirectToURL == nil {
		t.Fatalf("confirmed with status %s, next action %+v", in.Status, in.NextAction)
	}
	if target := decide(t, in.NextAction.RedirectToURL.URL, "approve"); !strings.Contains(target, "order=7") || !strings.Contains(target, "redirect_status=succeeded") {
		t.Errorf("redirected to %s", target)
	}
	capture := &stripe.PaymentIntentCaptureParams{AmountToCapture: stripe.Int64(4000)}
	capture.AddExpand("latest_charge.balance_transaction")
	in = must[*stripe.PaymentIntent](t)(c.V1PaymentIntents.Capture(ctx, in.ID, capture))
	if entry := in.LatestCharge.BalanceTransaction; in.Status != stripe.PaymentIntentStatusSucceeded || entry.Amount != 4000 || entry.Fee != 146 || entry.Net != 3854 {
		t.Errorf("captured with status %s, balance transaction %+v", in.Status, entry)
	}
	refund := must[*stripe.Refund](t)(c.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String(in.ID), Amount: stripe.Int64(1000), Metadata: map[string]string{"reference": "r1-1"}}))
	if refund.Status != stripe.RefundStatusSucceeded || refund.Amount != 1000 {
		t.Errorf("refund %+v", refund)
	}
	if rows := all(t, c.V1Refunds.List(ctx, &stripe.RefundListParams{PaymentIntent: stripe.String(in.ID)})); len(rows) != 2 { // what was not captured is a refund too
		t.Errorf("%d refunds", len(rows))
	}
	_, err := c.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String(in.ID), Amount: stripe.Int64(3001)})
	if e := (*stripe.Error)(nil); !errors.As(err, &e) || e.HTTPStatusCode != 400 || e.Type != stripe.ErrorTypeInvalidRequest || e.RequestID == "" {
		t.Errorf("refund of too much: %v", err)
	}
	id := must[string](t)(f.OpenDispute(in.LatestCharge.ID, "fraudulent"))
	dispute := must[*stripe.Dispute](t)(c.V1Disputes.Retrieve(ctx, id, nil))
	if dispute.Amount != 3000 || dispute.Status != stripe.DisputeStatusNeedsResponse || dispute.Reason != stripe.DisputeReasonFraudulent {
		t.Errorf("dispute %+v", dispute)
	}
	net := int64(0)
	for _, entry := range all(t, c.V1BalanceTransactions.List(ctx, &stripe.BalanceTransactionListParams{ListParams: stripe.ListParams{Limit: stripe.Int64(1)}})) {
		net += entry.Net
	}
	if want := int64(4000 - 146 - 1000 - 3000 - 1500); net != want {
		t.Errorf("balance transactions of %d net, want %d", net, want)
	}
	if events := all(t, c.V1Events.List(ctx, &stripe.EventListParams{Types: stripe.StringSlice([]string{"charge.dispute.created"})})); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	for _, d := range hook.Deliver() {
		if d.Err != nil || d.Status != 200 {
			t.Errorf("%s: %d %s %v", d.Event.Type, d.Status, d.Body, d.Err)
		}
	}
	want := "payment_intent.created payment_intent.requires_action charge.succeeded payment_intent.amount_capturable_updated charge.captured payment_intent.succeeded refund.created charge.refunded charge.dispute.created charge.dispute.funds_withdrawn"
	if got := strings.Join(*types, " "); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	f.check()
}

// A declined card and a rate limit are the errors that Stripe's client knows.
func TestErrorsOfStripesClient(t *testing.T) {
	f := start(t, Options{})
	ctx, c := context.Background(), stripeClient(f.Stub)
	pay := func() error {
		_, err := c.V1PaymentIntents.Create(ctx, &stripe.PaymentIntentCreateParams{
			Amount: stripe.Int64(5000), Currency: stripe.String("usd"), PaymentMethodTypes: stripe.StringSlice([]string{"card"}), Confirm: stripe.Bool(true),
			PaymentMethod: stripe.String("pm_card_visa_chargeDeclinedStolenCard"),
		})
		return err
	}
	e := new(stripe.Error)
	if err := pay(); !errors.As(err, &e) || e.Type != stripe.ErrorTypeCard || e.DeclineCode != stripe.DeclineCodeStolenCard || e.PaymentIntent.Status != stripe.PaymentIntentStatusRequiresPaymentMethod {
		t.Errorf("%v", err)
	}
	f.Plan(Fault{Effect: Fail, Status: 429, Code: "rate_limit"})
	if err := pay(); !errors.As(err, &e) || e.HTTPStatusCode != 429 || e.Code != stripe.ErrorCodeRateLimit {
		t.Errorf("%v", err)
	}
}

// decide opens the payer's page for 3-D Secure, presses a button, and returns where the page redirects to.
func decide(t *testing.T, page, decision string) string {
	t.Helper()
	shown := must[*http.Response](t)(http.Get(page))
	body, _ := io.ReadAll(shown.Body)
	if _ = shown.Body.Close(); shown.StatusCode != 200 || !strings.Contains(string(body), `value="`+decision+`"`) {
		t.Fatalf("page: %d %s", shown.StatusCode, body)
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answered := must[*http.Response](t)(browser.PostForm(page, parse("decision="+decision)))
	_ = answered.Body.Close()
	return answered.Header.Get("Location")
}
