package payments

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	subscriptionactor "mizan/actors/subscription"
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
)

// Subscriptions creates, reads and changes recurring payments; *subscription.Service of package actors/subscription
// implements it. Its methods return subscription.ErrTerms or a *ledger.Refusal. If the id is unknown or belongs to another
// partner's subscription, the refusal's code is NotFound. If a method gets an idempotency key, it claims the key, so that no
// other write can use it. If the key was claimed before, the method returns the earlier result (Result.Replay).
type Subscriptions interface {
	Create(subscriptionactor.Create) (subscriptionactor.Result, error)
	Read(org ledger.ID, partner int64, id ledger.ID) (subscriptionactor.Result, error)
	List(org ledger.ID, partner int64, p subscriptionactor.Page) (rows []subscriptionactor.Result, next ledger.Micros, err error)
	// Pause stops renewals. The error is Conflict if the subscription is paused or cancelled.
	Pause(subscriptionactor.Command) (subscriptionactor.Result, error)
	// Resume continues a paused subscription. The error is Conflict if the subscription is not paused.
	Resume(subscriptionactor.Command) (subscriptionactor.Result, error)
	// Cancel ends a subscription permanently. The error is Conflict if the subscription is cancelled already.
	Cancel(subscriptionactor.Command) (subscriptionactor.Result, error)
}

// subscriptionFields are the fields of a create request, in the order in which refusals list them.
var subscriptionFields = []string{"initial_payment_id", "amount", "period_days", "metadata"}

// createSubscription is POST /subscriptions
// {params:{initial_payment_id,amount,period_days,metadata?}}.
func (h *Handlers) createSubscription(req *web.Request) error {
	key, err := h.keys.Partner(req)
	if err != nil {
		return err
	}
	value, err := web.Document(req.Request.Body())
	if err != nil {
		return err
	}
	params, err := web.ParamsOf(value)
	if err != nil {
		return err
	}
	var problems web.Problems
	terms := readTerms(params, &problems)
	result, err := h.cfg.Subscriptions.Create(subscriptionactor.Create{
		Org: req.Principal.Org, Partner: req.Principal.Partner.Number, Terms: terms, Key: key, Author: req.Author(), Origin: req.Origin(),
		Malformed: len(problems) > 0,
		Refuse: func(field, detail string) {
			if !problems.HasField(field) {
				problems.Add(field, detail)
			}
		},
	})
	if errors.Is(err, subscriptionactor.ErrTerms) {
		slices.SortStableFunc(problems, func(a, b *ledger.Refusal) int {
			return slices.Index(subscriptionFields, a.Field) - slices.Index(subscriptionFields, b.Field)
		})
		return problems
	}
	if err == nil {
		req.Response.Header.SetCanonical(web.HeaderLocation, schema.AppendID([]byte(subscriptionsPath+"/"), result.Record.ID))
	}
	return h.writeSubscription(req, fiber.StatusCreated, &result, err)
}

// readTerms reads the terms of a create request. It adds a problem for each field that is missing or has the wrong type. The
// subscription service checks the values.
func readTerms(params []byte, problems *web.Problems) (t subscription.Terms) {
	const initial, amount, period, metadata = "initial_payment_id", "amount", "period_days", "metadata"
	if text, isText := jsonwalk.Text(web.Member(params, initial)); !isText {
		problems.Add(initial, initial+" is required: the id of a charged payment")
	} else if id, err := web.ParseID(string(text)); err != nil {
		problems.Add(initial, initial+" must be a UUID")
	} else {
		t.InitialPayment = id
	}
	if text, isText := jsonwalk.Text(web.Member(params, amount)); !isText {
		problems.Add(amount, amount+" is required: a string of minor units")
	} else if parsed, err := money.ParseBytes(text); err != nil {
		problems.Add(amount, amount+" must be a string of minor units")
	} else {
		t.Amount = parsed
	}
	if value := web.Member(params, period); value == nil {
		problems.Add(period, period+" is required")
	} else if n, err := strconv.ParseInt(string(value), 10, 32); err != nil {
		problems.Add(period, period+" must be an integer from 1 to "+strconv.Itoa(subscription.MaxPeriodDays))
	} else {
		t.PeriodDays = int(n)
	}
	if value := web.Member(params, metadata); value != nil {
		if !web.IsObject(value) {
			problems.Add(metadata, metadata+" must be an object")
		} else {
			t.Metadata = bytes.Clone(value)
		}
	}
	return t
}

// readSubscription is GET /subscriptions/{id}.
func (h *Handlers) readSubscription(req *web.Request) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	result, err := h.cfg.Subscriptions.Read(req.Principal.Org, req.Principal.Partner.Number, id)
	return h.writeSubscription(req, fiber.StatusOK, &result, err)
}

// pauseSubscription is POST /subscriptions/{id}/pause.
func (h *Handlers) pauseSubscription(req *web.Request) error {
	return h.changeSubscription(req, h.cfg.Subscriptions.Pause)
}

// resumeSubscription is POST /subscriptions/{id}/resume.
func (h *Handlers) resumeSubscription(req *web.Request) error {
	return h.changeSubscription(req, h.cfg.Subscriptions.Resume)
}

// cancelSubscription is POST /subscriptions/{id}/cancel.
func (h *Handlers) cancelSubscription(req *web.Request) error {
	return h.changeSubscription(req, h.cfg.Subscriptions.Cancel)
}

// changeSubscription pauses, resumes or cancels the subscription that the path names. A body is ignored.
func (h *Handlers) changeSubscription(req *web.Request, change func(subscriptionactor.Command) (subscriptionactor.Result, error)) error {
	command := subscriptionactor.Command{Org: req.Principal.Org, Partner: req.Principal.Partner.Number, Author: req.Author(), Origin: req.Origin()}
	var err error
	if command.ID, err = web.ParseID(req.Parameter("id")); err != nil {
		return err
	}
	if command.Key, err = h.keys.Partner(req); err != nil {
		return err
	}
	if _, err = req.Optional(); err != nil {
		return err
	}
	result, err := change(command)
	return h.writeSubscription(req, fiber.StatusOK, &result, err)
}

// writeSubscription responds with a subscription. If err is not nil, it returns err.
func (h *Handlers) writeSubscription(req *web.Request, status int, r *subscriptionactor.Result, err error) error {
	if err != nil {
		return err
	}
	if r.Replay {
		web.MarkReplayed(req)
	}
	web.WriteOne(req, status, false, r, appendSubscription)
	return nil
}

// listSubscriptions is GET /subscriptions, newest first.
func (h *Handlers) listSubscriptions(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "env", "status", "limit", "cursor")
	page := subscriptionactor.Page{Env: q.Env(), Limit: pageDefault, Status: q.Text("status")}
	if text, sent := q.Sent("status"); sent && !slices.Contains(subscription.Statuses(), text) {
		q.Problems.Add("status", "status must be one of "+strings.Join(subscription.Statuses(), ", "))
	}
	if text, sent := q.Sent("limit"); sent {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > pageMax || strconv.Itoa(n) != text {
			q.Problems.Add("limit", "limit must be from 1 to "+strconv.Itoa(pageMax))
		}
		page.Limit = n
	}
	if text, sent := q.Sent("cursor"); sent {
		at, isInstant := web.ParseInstant(text)
		if !isInstant {
			q.RefuseCursor()
		}
		page.CreatedBefore = max(1, web.RoundUpToMicros(at)) // not 0, which would select the first page
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	rows, next, err := h.cfg.Subscriptions.List(req.Principal.Org, req.Principal.Partner.Number, page)
	if err != nil {
		return err
	}
	l := web.NewList()
	for i := range rows {
		l.BeginRow()
		appendSubscription(&l.Encoder, &rows[i])
		l.Close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = next.Time().Format(schema.InstantLayout)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("created_at", cursor))
	return nil
}

func appendSubscription(e *schema.Encoder, r *subscriptionactor.Result) {
	jsonform.AppendSubscription(e, r.Record, r.Header.StartedAt)
}
