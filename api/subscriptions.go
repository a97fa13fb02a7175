package api

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
)

// Subscriptions makes, reads and moves recurring payments; *subscription.Service of
// actors is one. Its errors are *ledger.Refusal, NotFound for a foreign id and an
// unknown one alike, or subscription.ErrTerms. Whatever takes a key claims it, and
// answers a repetition with what was answered (Result.Replay).
type Subscriptions interface {
	Create(subscriptionactor.Create) (subscriptionactor.Result, error)
	Read(org ledger.ID, partner int64, id ledger.ID) (subscriptionactor.Result, error)
	List(org ledger.ID, partner int64, p subscriptionactor.Page) (rows []subscriptionactor.Result, next ledger.Micros, err error)
	// Pause stops renewals: Conflict for what is paused or cancelled.
	Pause(subscriptionactor.Command) (subscriptionactor.Result, error)
	// Resume goes on with what is paused: Conflict for what is not.
	Resume(subscriptionactor.Command) (subscriptionactor.Result, error)
	// Cancel ends it for ever: Conflict for what is cancelled.
	Cancel(subscriptionactor.Command) (subscriptionactor.Result, error)
}

// subscriptionFields are a create's fields in the order in which they are refused.
var subscriptionFields = []string{"initial_payment_id", "amount", "period_days", "metadata"}

// createSubscription is POST /subscriptions
// {params:{initial_payment_id,amount,period_days,metadata?}}.
func (h *paymentsHandlers) createSubscription(req *Request) error {
	key, err := h.keys.Partner(req)
	if err != nil {
		return err
	}
	value, err := document(req.Request.Body())
	if err != nil {
		return err
	}
	params, err := ParamsOf(value)
	if err != nil {
		return err
	}
	var wrong problems
	terms := readTerms(params, &wrong)
	result, err := h.cfg.Subscriptions.Create(subscriptionactor.Create{
		Org: req.Principal.Org, Partner: req.Principal.Partner.Number, Terms: terms, Key: key,
		Malformed: len(wrong) > 0,
		Refuse: func(field, detail string) {
			if !wrong.about(field) {
				wrong.add(field, detail)
			}
		},
	})
	if errors.Is(err, subscriptionactor.ErrTerms) {
		slices.SortStableFunc(wrong, func(a, b *ledger.Refusal) int {
			return slices.Index(subscriptionFields, a.Field) - slices.Index(subscriptionFields, b.Field)
		})
		return wrong
	}
	if err == nil {
		req.Response.Header.SetCanonical(headerLocation, appendID([]byte(subscriptionsPath+"/"), result.Record.ID))
	}
	return h.writeSubscription(req, fiber.StatusCreated, &result, err)
}

// readTerms reads what a create asks for. What is not there, or is of the wrong
// type, is a problem; what values mean is decided where records are.
func readTerms(params []byte, wrong *problems) (t subscription.Terms) {
	const initial, amount, period, metadata = "initial_payment_id", "amount", "period_days", "metadata"
	if said, isText := jsonwalk.Text(member(params, initial)); !isText {
		wrong.add(initial, initial+" is required: the id of a charged payment")
	} else if id, err := parseID(string(said)); err != nil {
		wrong.add(initial, initial+" must be a UUID")
	} else {
		t.Initial = id
	}
	if said, isText := jsonwalk.Text(member(params, amount)); !isText {
		wrong.add(amount, amount+" is required: a string of minor units")
	} else if parsed, err := money.ParseBytes(said); err != nil {
		wrong.add(amount, amount+" must be a string of minor units")
	} else {
		t.Amount = parsed
	}
	if value := member(params, period); value == nil {
		wrong.add(period, period+" is required")
	} else if n, err := strconv.ParseInt(string(value), 10, 32); err != nil {
		wrong.add(period, period+" must be an integer from 1 to "+strconv.Itoa(subscription.MaxPeriodDays))
	} else {
		t.PeriodDays = int(n)
	}
	if value := member(params, metadata); value != nil {
		if !isObject(value) {
			wrong.add(metadata, metadata+" must be an object")
		} else {
			t.Metadata = bytes.Clone(value)
		}
	}
	return t
}

// readSubscription is GET /subscriptions/{id}.
func (h *paymentsHandlers) readSubscription(req *Request) error {
	id, err := parseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	result, err := h.cfg.Subscriptions.Read(req.Principal.Org, req.Principal.Partner.Number, id)
	return h.writeSubscription(req, fiber.StatusOK, &result, err)
}

// pauseSubscription is POST /subscriptions/{id}/pause.
func (h *paymentsHandlers) pauseSubscription(req *Request) error {
	return h.moveSubscription(req, h.cfg.Subscriptions.Pause)
}

// resumeSubscription is POST /subscriptions/{id}/resume.
func (h *paymentsHandlers) resumeSubscription(req *Request) error {
	return h.moveSubscription(req, h.cfg.Subscriptions.Resume)
}

// cancelSubscription is POST /subscriptions/{id}/cancel.
func (h *paymentsHandlers) cancelSubscription(req *Request) error {
	return h.moveSubscription(req, h.cfg.Subscriptions.Cancel)
}

// moveSubscription moves the subscription that the path names. A body may be sent and is
// ignored.
func (h *paymentsHandlers) moveSubscription(req *Request, move func(subscriptionactor.Command) (subscriptionactor.Result, error)) error {
	command := subscriptionactor.Command{Org: req.Principal.Org, Partner: req.Principal.Partner.Number}
	var err error
	if command.ID, err = parseID(req.Parameter("id")); err != nil {
		return err
	}
	if command.Key, err = h.keys.Partner(req); err != nil {
		return err
	}
	if _, err = req.Optional(); err != nil {
		return err
	}
	result, err := move(command)
	return h.writeSubscription(req, fiber.StatusOK, &result, err)
}

func (h *paymentsHandlers) writeSubscription(req *Request, status int, r *subscriptionactor.Result, err error) error {
	if err != nil {
		return err
	}
	if r.Replay {
		replayed(req)
	}
	single(req, status, false, r, appendSubscription)
	return nil
}

// listSubscriptions is GET /subscriptions, newest first.
func (h *paymentsHandlers) listSubscriptions(req *Request) error {
	q := queryOf(req.RequestCtx, "env", "status", "limit", "cursor")
	page := subscriptionactor.Page{Env: q.env(), Limit: pageDefault, Status: q.text("status")}
	if said, sent := q.sent("status"); sent && !slices.Contains(subscription.Statuses(), said) {
		q.problems.add("status", "status must be one of "+strings.Join(subscription.Statuses(), ", "))
	}
	if said, sent := q.sent("limit"); sent {
		n, err := strconv.Atoi(said)
		if err != nil || n < 1 || n > pageMax || strconv.Itoa(n) != said {
			q.problems.add("limit", "limit must be from 1 to "+strconv.Itoa(pageMax))
		}
		page.Limit = n
	}
	if said, sent := q.sent("cursor"); sent {
		at, isInstant := parseInstant(said)
		if !isInstant {
			q.badCursor()
		}
		page.Before = max(1, ceiling(at)) // 0 would be the newest
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	rows, next, err := h.cfg.Subscriptions.List(req.Principal.Org, req.Principal.Partner.Number, page)
	if err != nil {
		return err
	}
	l := newList()
	for i := range rows {
		l.row()
		appendSubscription(&l.encoder, &rows[i])
		l.close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = next.Time().Format(instantLayout)
	}
	writeJSON(req.RequestCtx, fiber.StatusOK, l.finish("created_at", cursor))
	return nil
}

// appendSubscription writes a subscription. Its stored credential is shown nowhere.
func appendSubscription(e *encoder, r *subscriptionactor.Result) {
	record := r.Record
	e.id("id", record.ID)
	e.word("status", record.Status())
	e.id("initial_payment_id", record.Initial)
	e.amount("amount", record.Amount)
	e.word("currency", string(record.Asset.Currency))
	e.text("network", string(record.Asset.Network))
	e.word("env", record.Asset.Env.String())
	e.integer("period_days", int64(record.PeriodDays))
	next, _ := record.NextRenewal()
	e.instant("next_renewal_at", next)
	e.integer("renewals", int64(record.Renewals))
	e.integer("failed_attempts", int64(record.Failures))
	if record.Number > 0 {
		e.id("last_transaction_id", record.Last)
	} else {
		e.null("last_transaction_id")
	}
	e.object("metadata", record.Metadata)
	e.instant("created_at", r.Stamp.Started)
}
