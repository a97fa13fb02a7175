package model_test

import (
	"slices"
	"testing"

	"mizan/api"
	"mizan/api/description"
	"mizan/api/sdk/generate/model"
)

// partnerAPI returns the API for the client for partners.
func partnerAPI() *model.API { return model.Of(api.Describe("v"), model.ForPartner) }

func operation(t *testing.T, a *model.API, id string) *model.Operation {
	t.Helper()
	for _, o := range a.Operations {
		if o.ID == id {
			return o
		}
	}
	t.Fatalf("there is no operation %s", id)
	return nil
}

func field(t *testing.T, fields []model.Field, name string) *model.Field {
	t.Helper()
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	t.Fatalf("there is no field %s", name)
	return nil
}

func TestAPaymentHasItsTypes(t *testing.T) {
	t.Parallel()
	a := partnerAPI()
	create := operation(t, a, "createTransaction")
	if create.Body.Envelope != "params" || create.Body.Value.Name != "TransactionCreate" || create.Result.Value.Name != "Transaction" || !create.IsKeyed {
		t.Errorf("%+v, %+v", create.Body, create.Result)
	}
	request, response := a.Type("TransactionCreate"), a.Type("Transaction")
	if f := field(t, request.Fields, "amount"); f.Value.Kind != model.Amount || f.Value.AsNumber || !f.IsRequired || !request.IsRequest {
		t.Errorf("amount %+v", f)
	}
	if f := field(t, response.Fields, "status"); f.Value.Kind != model.Named || len(a.Type(f.Value.Name).Words) != 17 {
		t.Errorf("status %+v", f)
	}
	if f := field(t, response.Fields, "finished"); f.Value.Kind != model.Instant || !f.Value.IsNullable || !f.IsRequired {
		t.Errorf("finished %+v", f)
	}
	if f := field(t, response.Fields, "refunds"); f.Value.Kind != model.List || f.Value.Entry.Name != "Refund" || f.IsRequired {
		t.Errorf("refunds %+v", f)
	}
	if f := field(t, a.Type("LinkAmount").Fields, "default"); f.Value.Kind != model.Amount || !f.Value.AsNumber {
		t.Errorf("amount of a link %+v", f)
	}
}

func TestListsArePages(t *testing.T) {
	t.Parallel()
	a := partnerAPI()
	list := operation(t, a, "listTransactions")
	if !list.IsPaged() || list.Result.Value.Name != "Transaction" {
		t.Errorf("%+v", list.Result)
	}
	if balances := operation(t, a, "listBalances"); balances.IsPaged() || balances.Result.Envelope != "data" || balances.Result.Value.Kind != model.List {
		t.Errorf("%+v", balances.Result)
	}
	for _, f := range list.Query {
		if f.Name == "partner_id" || f.Name == "from" || f.Name == "txid" {
			t.Errorf("a partner may not send %s", f.Name)
		}
	}
}

// A client for other callers has the parameters that a partner cannot send.
func TestTheOperatorNamesThePartner(t *testing.T) {
	t.Parallel()
	isOperator := func(d *model.Described) bool {
		return slices.ContainsFunc(d.Callers, func(c description.Caller) bool { return c.Kind == description.AdminToken })
	}
	a := model.Of(api.Describe("v"), isOperator)
	field(t, operation(t, a, "listTransactions").Query, "partner_id")
	field(t, a.Type("LinkCreate").Fields, "partner_id")
}

func TestAnAmountThatMayBeATextOrANumberIsAnAmount(t *testing.T) {
	t.Parallel()
	a := model.Of(api.Describe("v"), func(*model.Described) bool { return true })
	if f := field(t, a.Type("MusharakaCreate").Fields, "total_value"); f.Value.Kind != model.Amount || f.Value.AsNumber || f.Value.IsNullable {
		t.Errorf("%+v", f.Value)
	}
	if f := field(t, a.Type("MusharakaCreate").Fields, "rental_amount"); f.Value.Kind != model.Amount || !f.Value.IsNullable {
		t.Errorf("%+v", f.Value)
	}
}

func TestAPatchCanRemoveAValue(t *testing.T) {
	t.Parallel()
	a := partnerAPI()
	if patch := a.Type("LinkPatch"); !patch.IsPatch || !a.Type("LinkPatchAmount").IsPatch || a.Type("LinkCreate").IsPatch {
		t.Errorf("%+v", patch)
	}
}

func TestNotificationsOfAStreamHaveOneType(t *testing.T) {
	t.Parallel()
	a := partnerAPI()
	streams := make(map[string]int)
	for _, e := range a.Events {
		streams[e.Value.Name]++
	}
	if streams[model.TransactionEvent] != 18 || streams[model.SubscriptionEvent] != 5 || len(streams) != 2 {
		t.Errorf("%v", streams)
	}
	if status := field(t, a.Type("TransactionEventData").Fields, "status"); status.Value.Name != "TransactionStatus" {
		t.Errorf("status %+v", status)
	}
}

// If a value names a type, the type exists. Otherwise a client would lack the object.
func TestEveryNamedValueHasAType(t *testing.T) {
	t.Parallel()
	a := model.Of(api.Describe("v"), func(*model.Described) bool { return true })
	if len(a.Operations) < 290 {
		t.Errorf("%d operations", len(a.Operations))
	}
	var check func(name string, v *model.Value)
	check = func(name string, v *model.Value) {
		if v.Kind == model.Named && a.Type(v.Name) == nil {
			t.Errorf("%s: there is no type %s", name, v.Name)
		}
		if (v.Kind == model.List || v.Kind == model.Map) && v.Entry == nil {
			t.Errorf("%s has no entry", name)
		}
		if v.Entry != nil {
			check(name, v.Entry)
		}
	}
	for _, ty := range a.Types {
		for i := range ty.Fields {
			check(ty.Name+"."+ty.Fields[i].Name, &ty.Fields[i].Value)
		}
	}
	for _, o := range a.Operations {
		check(o.ID, &o.Result.Value)
		if o.Body != nil {
			check(o.ID, &o.Body.Value)
		}
	}
}
