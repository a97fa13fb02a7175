package contracts

import (
	"encoding/json"
	"errors"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Service creates contracts, performs actions on them and reads them. It is implemented by *contract.Service of package
// actors/contract. The methods return errors of the types *schema.Faults and *ledger.Refusal.
type Service interface {
	Create(contractactor.Create) (contractactor.Result, error)
	Act(contractactor.ActionRequest) (contractactor.Result, error)
	Read(org ledger.ID, p *contract.Product, reading *contract.Reading, id ledger.ID) (contractactor.Result, error)
	Screen(org ledger.ID, input contract.ScreeningInput, key actors.Key, author ledger.Author) (contractactor.Screening, error)
}

// family is a reading (the secular or the religious form of the products), with the conditions that apply to all routes of the
// reading.
type family struct {
	reading *contract.Reading
	module  string
	bank    bool // the organization must be a bank
}

var secularFamily = &family{reading: contract.Secular, module: directory.ParticipatoryFinance}

// checkModule checks that the organization has the family's module and, if the family requires it, is a bank.
func (h *Handlers) checkModule(f *family, req *web.Request) error {
	const op = "contracts.contracts"
	o, known := h.cfg.Organizations.Organization(req.Principal.Org)
	switch {
	case !known || !o.HasModule(f.module):
		return f.moduleInactive()
	case f.bank && o.Type != directory.Bank:
		return ledger.Refuse(op, ledger.Forbidden, "the organization is not a bank")
	}
	return nil
}

// replaceForbidden returns the error for a caller whose role may not use the family's routes. If the organization lacks the
// family's module, the error says so instead, so that all callers of such an organization get the same error.
func (h *Handlers) replaceForbidden(f *family, org ledger.ID, refusal error) error {
	if o, known := h.cfg.Organizations.Organization(org); !known || o.HasModule(f.module) {
		return refusal
	}
	return f.moduleInactive()
}

func (f *family) moduleInactive() error {
	return ledger.Refuse("contracts.contracts", ledger.ModuleNotActive, "the module %s is not active", f.module)
}

// withDetails converts an error that refuses fields to the format of the contract routes: {error, details: {field: [message]}}.
func withDetails(err error) error {
	if err == nil {
		return nil
	}
	var faults *schema.Faults
	if errors.As(err, &faults) {
		return err
	}
	refusals := web.RefusalsOf(err)
	if refusals[0].Code != ledger.Invalid {
		return err
	}
	faults = new(schema.Faults)
	for _, r := range refusals {
		faults.List = append(faults.List, schema.Fault{Field: r.Field, Message: r.Detail})
	}
	return faults
}

// keyAndInput reads the Idempotency-Key and the body of a request that writes.
func (h *Handlers) keyAndInput(req *web.Request) (key actors.Key, sent schema.Input, err error) {
	if key, err = h.keys.Staff(req); err == nil {
		sent, err = req.Input()
	}
	return key, sent, err
}

// callerOf returns the user who sent the request, and whether the user's organization requires dual control.
func (h *Handlers) callerOf(req *web.Request) contract.Caller {
	o, known := h.cfg.Organizations.Organization(req.Principal.Org)
	return contract.Caller{User: req.Principal.Session.User, DualControl: known && o.HasModule(directory.DualControl)}
}

// createContract serves POST /pfp/{product}.
func (h *Handlers) createContract(req *web.Request, f *family, product *contract.Product) error {
	key, sent, err := h.keyAndInput(req)
	if err != nil {
		return err
	}
	env := money.Prod
	if raw, ok := sent["env"]; ok && string(raw) != "null" {
		var known bool
		if env, known = parseEnv(raw); !known {
			return ledger.RefuseField("contracts.createContract", "env", "must be prod or test")
		}
	}
	o, _ := h.cfg.Organizations.Organization(req.Principal.Org)
	result, err := h.cfg.Contracts.Create(contractactor.Create{
		Org: req.Principal.Org, Product: product, Reading: f.reading, Env: env, Input: sent, Key: key, Author: req.Author(), Origin: req.Origin(), Caller: h.callerOf(req),
		Allowed: func(region string) bool { return o != nil && o.AllowsRegion(region) },
	})
	return h.writeContract(req, fiber.StatusCreated, &result, err)
}

// parseEnv parses an environment from JSON.
func parseEnv(raw json.RawMessage) (env money.Env, known bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return env, false
	}
	return money.ParseEnv(text)
}

// contractAt returns the contract whose id is in the URL path.
func (h *Handlers) contractAt(req *web.Request, f *family, product *contract.Product) (contractactor.Result, error) {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return contractactor.Result{}, err
	}
	return h.cfg.Contracts.Read(req.Principal.Org, product, f.reading, id)
}

// readContract serves GET /pfp/{product}/{id}.
func (h *Handlers) readContract(req *web.Request, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	return h.writeContract(req, fiber.StatusOK, &result, err)
}

// actOnContract serves POST /pfp/{product}/{id}/{action}.
func (h *Handlers) actOnContract(req *web.Request, f *family, product *contract.Product) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	key, sent, err := h.keyAndInput(req)
	if err != nil {
		return err
	}
	name := req.Parameter("action")
	action, known := product.Action(f.reading, name)
	if !known {
		if _, err := h.cfg.Contracts.Read(req.Principal.Org, product, f.reading, id); err != nil {
			return err // an unknown contract is NotFound, even if the action is also unknown
		}
		return contract.Unsupported(web.Truncate([]byte(name), 64))
	}
	result, err := h.cfg.Contracts.Act(contractactor.ActionRequest{
		Org: req.Principal.Org, ID: id, Product: product, Reading: f.reading, Action: action, Input: sent, Key: key, Author: req.Author(), Origin: req.Origin(), Caller: h.callerOf(req),
	})
	return h.writeContract(req, fiber.StatusOK, &result, err)
}

func (h *Handlers) writeContract(req *web.Request, status int, result *contractactor.Result, err error) error {
	if err != nil {
		return err
	}
	if result.Replay {
		web.MarkReplayed(req)
	}
	e := schema.Encoder{Buf: make([]byte, 0, 2<<10)}
	e.Open('{')
	e.OpenField("data", '{')
	jsonform.AppendContract(&e, result.Record, viewOf(req.Principal.Org, result))
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, status, e.Buf)
	return nil
}

// viewOf returns what a response shows of a contract in addition to the contract's record.
func viewOf(org ledger.ID, result *contractactor.Result) *jsonform.ContractView {
	header := &result.Header
	return &jsonform.ContractView{Org: org, StartedAt: header.StartedAt, UpdatedAt: header.UpdatedAt, Number: header.Number}
}

// appendListed appends a contract as a row of a list. The row has fewer fields than the contract has alone.
func appendListed(e *schema.Encoder, org ledger.ID, result *contractactor.Result) {
	view := viewOf(org, result)
	view.InList = true
	jsonform.AppendContract(e, result.Record, view)
}

// appendSigned writes an amount that may be negative and is not the value of a column.
func (f *family) appendSigned(e *schema.Encoder, name string, s money.Signed) {
	e.Key(name)
	e.Buf = schema.AppendSigned(e.Buf, s, f.reading.ResponseStyle)
}
