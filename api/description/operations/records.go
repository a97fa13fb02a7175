package operations

import (
	"strings"

	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// recordType describes a type of record in the directory, and the operations that create, read and change such records.
type recordType struct {
	name, plural string // Partner, Partners
	title        string // the name of one record in sentences: partner
	tag          string
	create, list string // paths of the operations that create and list records
	one          string // path of one record
	key          spec.Parameter
	columns      interface {
		ShownColumns() []*schema.Column
		RequestColumns() []*schema.Column
	}
	atTopLevel   bool // the response to a creation has the record's fields also at the top level, not only in data
	platformWide bool
	filters      []spec.Parameter // parameters that the list has in addition to limit and cursor

	body, change string // bodies of the examples that create and change a record
}

var numberParameter = spec.InPath("id", spec.Integer(1), "The number of the partner.")

var ofPartner = spec.InQuery("partner_id", spec.Integer(1), "Only the records of this partner.")

// recordTypes returns the types of records that have the usual operations: create, read, list and change.
func recordTypes() []recordType {
	return []recordType{
		{name: "Organization", plural: "Organizations", title: "organization", tag: tagOrganizations, create: "/organizations",
			list: "/organizations", one: "/organizations/{id}", key: idParameter,
			columns: directory.Organizations, platformWide: true, body: `{"name":"Tea Shop","type":"merchant"}`, change: `{"status":"maintenance"}`},
		{name: "Partner", plural: "Partners", title: "partner", tag: tagPartners, create: "/partners", list: "/partners", one: "/partners/{id}",
			key:     numberParameter,
			columns: directory.Partners, atTopLevel: true, body: `{"name":"Tea Shop","login":"tea-shop","pass":"nine-Lions-paint","email":"shop@tea.example","lang":"en"}`, change: `{"branding":{"display_name":"The Tea Shop","color":"#12744a"}}`},
		{name: "User", plural: "Users", title: "user", tag: tagUsers, create: "/users", list: "/users", one: "/users/{id}", key: idParameter,
			columns: directory.Users, filters: []spec.Parameter{ofPartner},
			body: `{"login":"amina","name":"Amina Karim","pass":"correct-horse-battery-9","roles":["auditor"]}`, change: `{"email":"amina@bank.example"}`},
		{name: "Terminal", plural: "Terminals", title: "terminal", tag: tagTerminals, create: "/terminal", list: "/terminals", one: "/terminal/{id}",
			key:     idParameter,
			columns: directory.Terminals, filters: []spec.Parameter{ofPartner},
			body:   `{"name":"Cards in euro","provider":"simulator","type":"payment","env":"test","partner_id":1,"provider_params":{"priority":10,"currencies":["EUR"],"fee_bps":"150","fee_mode":"deduct"}}`,
			change: `{"is_active":false}`},
		{name: "Limit", plural: "Limits", title: "limit", tag: tagLimits, create: "/limits", list: "/limits", one: "/limits/{id}", key: idParameter,
			columns: directory.Limits, filters: []spec.Parameter{ofPartner},
			body: `{"partner_id":1,"kind":"daily_volume","currency":"USD","env":"test","max_amount":"5000000"}`, change: `{"max_amount":"9000000"}`},
	}
}

func recordOperations() (list []spec.Operation) {
	for _, t := range recordTypes() {
		list = append(list, t.operations()...)
	}
	return append(list, keyOperations()...)
}

func (t *recordType) operations() []spec.Operation {
	shown, kept := spec.Data(spec.Ref(t.name)), "example"+t.name
	createdRecord := shown
	if t.atTopLevel {
		createdRecord = atTopLevel(t.columns.ShownColumns(), spec.Ref(t.name))
	}
	withWarnings := func(s *spec.Schema) *spec.Schema { return s }
	if t.name == "Terminal" {
		withWarnings = func(s *spec.Schema) *spec.Schema {
			return spec.Object(append(s.Members, spec.Optional("warnings", spec.List(spec.Text()),
				"one text for each key of `provider_params` that is not known"))...)
		}
	}
	of := map[string]string{"id": "$" + kept}
	unknown, wrong := spec.Refusal{Code: ledger.NotFound}, spec.Refusal{Code: ledger.Invalid}
	list := []spec.Operation{{
		ID: "create" + t.name, Method: "POST", Path: v1 + t.create, Summary: "Create " + article(t.title),
		Body: spec.Record(spec.Ref(t.name + "Create")), Answers: created(withWarnings(createdRecord)),
		Refusals: []spec.Refusal{wrong, {Code: ledger.Conflict, When: "a value that must be unique is already in use, or there are too many such records"}},
		Examples: []spec.Example{{Body: t.body, Keep: map[string]string{kept: "data.id"}}},
	}, {
		ID: "list" + t.plural, Method: "GET", Path: v1 + t.list, Summary: "List " + t.title + "s",
		Parameters: append(t.filters, limitParameter(50, web.ListMax), cursorParameter), Answers: ok(spec.Page(spec.Ref(t.name), "created_at")),
		Examples: []spec.Example{{Query: "limit=1"}},
	}, {
		ID: "get" + t.name, Method: "GET", Path: v1 + t.one, Summary: "Read " + article(t.title),
		Parameters: []spec.Parameter{t.key}, Answers: ok(shown), Refusals: []spec.Refusal{unknown}, Examples: []spec.Example{{Path: of}},
	}, {
		ID: "patch" + t.name, Method: "PATCH", Path: v1 + t.one, Summary: "Change " + article(t.title),
		Parameters: []spec.Parameter{t.key}, Body: spec.Record(spec.Ref(t.name + "Patch")), Answers: ok(withWarnings(shown)),
		Refusals: []spec.Refusal{unknown, wrong, {Code: ledger.Conflict}},
		Examples: []spec.Example{{Path: of, Body: t.change}},
	}}
	if t.name != "Organization" {
		list = append(list, spec.Operation{
			ID: "delete" + t.name, Method: "DELETE", Path: v1 + t.one, Summary: "Deactivate " + article(t.title),
			Parameters: []spec.Parameter{t.key}, Answers: ok(shown), Refusals: []spec.Refusal{unknown}, Examples: []spec.Example{{Path: of}},
		})
	}
	for i := range list {
		list[i].Tag, list[i].PlatformWide = t.tag, t.platformWide
	}
	return list
}

func article(title string) string {
	if strings.ContainsAny(title[:1], "aeio") {
		return "an " + title
	}
	return "a " + title
}

// atTopLevel returns the schema for a response to a creation that has the record's fields twice: at the top level and in data.
func atTopLevel(columns []*schema.Column, of *spec.Schema) *spec.Schema {
	s := spec.ShownWhenNew(columns)
	s.Members = append(s.Members, spec.Required("data", of, "the record again, with the same fields as at the top level"))
	return s
}

// keyOperations returns the operations on API keys and on the admin token.
func keyOperations() []spec.Operation {
	return []spec.Operation{{
		ID: "createApiKey", Method: "POST", Path: v1 + "/api_keys", Tag: tagKeys, Summary: "Create an API key",
		Body: spec.Record(spec.Ref("ApiKeyCreate")), Answers: created(atTopLevel(directory.APIKeys.ShownColumns(), spec.Ref("NewApiKey"))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid}, {Code: ledger.Conflict, When: "the partner has too many keys"}},
		Examples: []spec.Example{{Body: `{"partner_id":1,"name":"shop server"}`, Keep: map[string]string{"exampleKey": "id"}}},
	}, {
		ID: "listApiKeys", Method: "GET", Path: v1 + "/api_keys", Tag: tagKeys, Summary: "List API keys",
		Parameters: []spec.Parameter{ofPartner, limitParameter(50, web.ListMax), cursorParameter},
		Answers:    ok(spec.Page(spec.Ref("ApiKey"), "created_at")), Examples: []spec.Example{{Query: "limit=1"}},
	}, {
		ID: "getApiKey", Method: "GET", Path: v1 + "/api_keys/{id}", Tag: tagKeys, Summary: "Read an API key",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(spec.Data(spec.Ref("ApiKey"))), Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleKey"}}},
	}, {
		ID: "revokeApiKey", Method: "DELETE", Path: v1 + "/api_keys/{id}", Tag: tagKeys, Summary: "Revoke an API key",
		Parameters: []spec.Parameter{idParameter}, Answers: ok(spec.Data(spec.Ref("ApiKey"))), Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$exampleKey"}}},
	}, {
		ID: "rotateAdminToken", Method: "POST", Path: v1 + "/admin_tokens/rotate", Tag: tagKeys, Summary: "Replace the admin token", PlatformWide: true,
		Body: spec.OptionalJSON(spec.OpenObject()), Answers: created(spec.Data(spec.Object(spec.Required("token", spec.Text(),
			"the new token, which is shown only this once")))),
	}}
}

// recordSchemas returns the schemas of the records in the directory.
func recordSchemas() []spec.Component {
	list := storefrontSchemas()
	for _, t := range recordTypes() {
		list = append(list,
			spec.Component{Name: t.name, Schema: spec.Shown(t.columns.ShownColumns(), schema.Style{})},
			spec.Component{Name: t.name + "Create", Schema: spec.ForCreate(t.columns.RequestColumns(), schema.ParseOptions{})},
			spec.Component{Name: t.name + "Patch", Schema: spec.ForPatch(t.columns.RequestColumns())},
		)
	}
	list = append(list,
		spec.Component{Name: "ApiKey", Schema: spec.Shown(directory.APIKeys.ShownColumns(), schema.Style{})},
		spec.Component{Name: "NewApiKey", Schema: spec.ShownWhenNew(directory.APIKeys.ShownColumns())},
		spec.Component{Name: "ApiKeyCreate", Schema: spec.ForCreate(directory.APIKeys.RequestColumns(), schema.ParseOptions{})},
		spec.Component{Name: "Rate", Schema: spec.Shown(directory.Rates.ShownColumns(), schema.Style{})},
		spec.Component{Name: "RatePut", Schema: spec.ForCreate(directory.Rates.RequestColumns(), schema.ParseOptions{})},
		spec.Component{Name: "Settlement", Schema: spec.Shown(directory.Settlements.ShownColumns(), schema.Style{})},
		spec.Component{Name: "BlocklistEntry", Schema: spec.Shown(directory.Blocks.ShownColumns(), schema.Style{})},
	)
	for _, provider := range directory.Providers() {
		if provider.Parameters != nil {
			s := spec.ForCreate(provider.Parameters.RequestColumns(), schema.ParseOptions{})
			list = append(list, spec.Component{Name: "ProviderParams" + strings.ToUpper(provider.Name[:1]) + provider.Name[1:], Tag: tagTerminals,
				Schema: s.WithText("Members that the `provider_params` of a terminal have, besides the members for every terminal, if the terminal's provider is `" + provider.Name + "`.")})
		}
	}
	return list
}

// recordRoles returns the schema for the roles of a session.
func recordRoles() *spec.Schema { return spec.List(spec.Words(directory.AllRoles...)) }
