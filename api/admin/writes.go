package admin

import (
	"context"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// form is a request's body. Besides the methods of records.Form, it has methods for kinds of fields that only administration
// requests contain.
type form struct{ *records.Form }

// parseForm parses the request's body as records.Parse does. The response reports problems in the order of the fields in order.
func parseForm(req *web.Request, order ...string) (form, error) {
	f, err := records.Parse(req, order...)
	return form{f}, err
}

// run makes a change and responds with its result. If the request's Idempotency-Key was used before, run makes no change, but
// responds with the cached reply (see records.Reply).
func run[T any](h *Handlers, req *web.Request, reply records.Reply[T], change func(context.Context) (T, error)) error {
	return reply.Run(records.CachedReplies{Key: h.keys.Admin, Reply: h.cfg.Directory.FindCachedReply}, req, change)
}

// runInOrganization calls run for a change in the request's organization.
func runInOrganization[T any](h *Handlers, req *web.Request, reply records.Reply[T], change func(ctx context.Context, org ledger.ID) (T, error)) error {
	return run(h, req, reply, func(ctx context.Context) (result T, err error) {
		org, err := req.Organization(h.cfg.Directory)
		if err != nil {
			return result, err
		}
		return change(ctx, org)
	})
}

// runOnRecord calls run for a change of the record whose id is in the URL path.
func runOnRecord[T any](h *Handlers, req *web.Request, reply records.Reply[T], change func(ctx context.Context, org, id ledger.ID) (T, error)) error {
	return run(h, req, reply, func(ctx context.Context) (result T, err error) {
		org, id, err := h.organizationAndID(req)
		if err != nil {
			return result, err
		}
		return change(ctx, org, id)
	})
}

// runOnPartner calls run for a change of the partner whose number is in the URL path, or of one of the partner's records.
func runOnPartner[T any](h *Handlers, req *web.Request, reply records.Reply[T], change func(ctx context.Context, org ledger.ID, number int64) (T, error)) error {
	return run(h, req, reply, func(ctx context.Context) (result T, err error) {
		org, number, err := h.organizationAndNumber(req)
		if err != nil {
			return result, err
		}
		return change(ctx, org, number)
	})
}

// createRecord adds a record to the request's organization.
func createRecord[R any](h *Handlers, req *web.Request, reply records.Reply[*R], columns *schema.Type[R], create func(ctx context.Context, org ledger.ID, draft R) (*R, error)) error {
	return runInOrganization(h, req, reply, func(ctx context.Context, org ledger.ID) (*R, error) {
		f, err := records.ParseColumns(req, columns)
		if err != nil {
			return nil, err
		}
		draft := f.Draft()
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*R, error) { return create(ctx, org, draft) })
	})
}

// patchRecord changes the record whose id is in the URL path.
func patchRecord[R any](h *Handlers, req *web.Request, reply records.Reply[*R], columns *schema.Type[R], lookup findByID[R], patch func(ctx context.Context, org, id ledger.ID, change schema.Change[R]) (*R, error)) error {
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*R, error) {
		if record, found := lookup(org, id); !found || !mayAccess(req, record) {
			return nil, web.NotFound()
		}
		f, err := records.ParseColumns(req, columns)
		if err != nil {
			return nil, err
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*R, error) { return patch(ctx, org, id, f.Change()) })
	})
}
