package stripe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"

	"github.com/stripe/stripe-go/v85"

	"mizan/internal/secret"
	"mizan/internal/wiping"
)

// methodsPath creates PaymentMethods. It is the only path to which a card is sent.
const methodsPath = "/v1/payment_methods"

// createMethod makes a PaymentMethod of a card. The request is not made by stripe-go, which would copy the card into strings that
// cannot be overwritten. Its body is overwritten after it is sent.
func (c *client) createMethod(ctx context.Context, card *secret.Card, key string) (*stripe.PaymentMethod, error) {
	content := cardForm(card)
	body := wiping.NewBody(content)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { body.AttachTo(got.Conn) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+methodsPath, nil)
	if err != nil {
		clear(content)
		return nil, err
	}
	request.Header = http.Header{
		"Authorization": {"Bearer " + c.secretKey}, "Content-Type": {"application/x-www-form-urlencoded"}, "Stripe-Version": {stripe.APIVersion},
		"Idempotency-Key": {key}, "User-Agent": {"mizan"},
	}
	request.Body, request.ContentLength = body, int64(len(content)) // without GetBody nothing is sent twice
	answer, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		var envelope struct {
			Error *stripe.Error `json:"error"`
		}
		if err := json.Unmarshal(text, &envelope); err != nil || envelope.Error == nil {
			return nil, errNotStripe
		}
		envelope.Error.HTTPStatusCode = answer.StatusCode
		return nil, envelope.Error
	}
	method := new(stripe.PaymentMethod)
	if err := json.Unmarshal(text, method); err != nil || method.ID == "" {
		return nil, errNotStripe
	}
	return method, nil
}

// cardForm writes the body of the request. The card's bytes are copied only into this body.
func cardForm(card *secret.Card) []byte {
	const names = len("type=card&card[number]=&card[exp_month]=&card[exp_year]=20&card[cvc]=&billing_details[name]=")
	form := make([]byte, 0, names+3*(len(card.Number)+len(card.Holder)+len(card.ExpMonth)+len(card.ExpYear)+len(card.CVV)))
	form = append(form, "type=card"...)
	form = appendField(form, "card[number]", card.Number)
	form = appendField(form, "card[exp_month]", card.ExpMonth)
	if len(card.ExpYear) == 2 {
		form = append(form, "&card[exp_year]=20"...)
		form = append(form, card.ExpYear...)
	} else {
		form = appendField(form, "card[exp_year]", card.ExpYear)
	}
	form = appendField(form, "card[cvc]", card.CVV)
	return appendField(form, "billing_details[name]", card.Holder)
}

// appendField writes a field of a form (application/x-www-form-urlencoded). If the value is empty, it writes nothing.
func appendField(form []byte, name string, value []byte) []byte {
	const hex = "0123456789ABCDEF"
	if len(value) == 0 {
		return form
	}
	form = append(append(append(form, '&'), name...), '=')
	for _, b := range value {
		switch {
		case b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '-', b == '_', b == '.':
			form = append(form, b)
		default:
			form = append(form, '%', hex[b>>4], hex[b&15])
		}
	}
	return form
}
