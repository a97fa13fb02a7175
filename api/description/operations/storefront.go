package operations

import (
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
)

func storefrontOperations() []spec.Operation {
	list := append(
		storefrontRecord("Link", "links", "payment link", `{"env":"test","name":"Breakfast","amount":{"default":1999,"currency":"USD"},"amount_type":"fixed","pay_config":{}}`, `{"description":"Tea and toast"}`),
		storefrontRecord("Product", "products", "product", `{"env":"test","header":"Tea","text":"A pot of green tea","price":450,"currency":"USD","qty":"1"}`, `{"price":500}`)...,
	)
	return append(list, spec.Operation{
		ID: "uploadImage", Method: "POST", Path: v1 + "/images", Tag: tagLinks, Summary: "Upload an image",
		Body: &spec.Body{Media: "multipart/form-data", Schema: spec.OpenObject(spec.Required("image",
			&spec.Schema{Types: []string{"string"}, Format: "binary"}, "a PNG or JPEG file of at most 5 MiB"))},
		Answers: created(spec.Data(spec.Ref("Image"))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "the field `image` has no file, or the file is not a PNG or JPEG image, or the image has too many pixels"}, {Code: web.PayloadTooLarge, When: "the file is larger than 5 MiB"},
			{Code: ledger.Unavailable, When: "too many images are being uploaded; nothing was done"}},
	})
}

// storefrontRecord returns the operations on payment links or on products.
func storefrontRecord(name, path, title, create, change string) []spec.Operation {
	base, kept := v1+"/"+path, "example"+name
	id := spec.InPath("id", spec.UUID(), "The id of the "+title+".")
	shown, of := spec.Data(spec.Ref(name)), map[string]string{"id": "$" + kept}
	wrong, unknown := spec.Refusal{Code: ledger.Invalid}, spec.Refusal{Code: ledger.NotFound}
	return []spec.Operation{{
		ID: "create" + name, Method: "POST", Path: base, Tag: tagLinks, Summary: "Create a " + title,
		Body: spec.Record(spec.Ref(name + "Create")), Answers: created(shown), Refusals: []spec.Refusal{wrong},
		Examples: []spec.Example{{Body: create, Keep: map[string]string{kept: "data.id"}}},
	}, {
		ID: "list" + name + "s", Method: "GET", Path: base, Tag: tagLinks, Summary: "List " + title + "s",
		Parameters: []spec.Parameter{envParameter, spec.InQuery("active", spec.Words("true", "false"),
			"`true`: only those that accept payments; `false`: only those that do not."), limitParameter(20, 100), cursorParameter,
			spec.InQuery("partner_id", spec.Integer(1), "The partner whose records are listed. Required with the admin token; a partner may send only its own number.")},
		Answers: ok(spec.Page(spec.Ref(name), "created")), Examples: []spec.Example{{Query: "env=test"}},
	}, {
		ID: "get" + name, Method: "GET", Path: base + "/{id}", Tag: tagLinks, Summary: "Read a " + title,
		Parameters: []spec.Parameter{id}, Answers: ok(shown), Refusals: []spec.Refusal{unknown}, Examples: []spec.Example{{Path: of}},
	}, {
		ID: "patch" + name, Method: "PATCH", Path: base + "/{id}", Tag: tagLinks, Summary: "Change a " + title,
		Parameters: []spec.Parameter{id}, Body: spec.Record(spec.Ref(name + "Patch")), Answers: ok(shown),
		Refusals: []spec.Refusal{unknown, wrong, {Code: ledger.Conflict}},
		Examples: []spec.Example{{Path: of, Body: change}},
	}, {
		ID: "delete" + name, Method: "DELETE", Path: base + "/{id}", Tag: tagLinks, Summary: "Close a " + title,
		Parameters: []spec.Parameter{id}, Answers: []spec.Answer{{Status: 204,
			Text: "Its address accepts no more payments. A second DELETE changes nothing."}}, Refusals: []spec.Refusal{unknown},
		Examples: []spec.Example{{Path: of}},
	}}
}

// storefrontSchemas returns the schemas of payment links, products and images.
func storefrontSchemas() []spec.Component {
	ofPartner := func(s *spec.Schema) *spec.Schema { // makes partner_id optional, because a partner's key identifies the partner
		for i := range s.Members {
			if s.Members[i].Name == "partner_id" {
				s.Members[i].Required = false
				s.Members[i].Schema = spec.Nullable(s.Members[i].Schema.WithText("number of the partner; required with the admin token"))
			}
		}
		return s
	}
	link := spec.Shown(storefront.Links.ShownColumns(), schema.Style{})
	for i := range link.Members {
		if link.Members[i].Name == "products" {
			link.Members[i].Schema = spec.List(spec.Ref("Product")).WithText(link.Members[i].Schema.Text)
		}
	}
	return []spec.Component{
		{Name: "Link", Schema: link},
		{Name: "LinkCreate", Schema: ofPartner(spec.ForCreate(storefront.Links.RequestColumns(), schema.ParseOptions{}))},
		{Name: "LinkPatch", Schema: spec.ForPatch(storefront.Links.RequestColumns())},
		{Name: "Product", Schema: spec.Shown(storefront.Products.ShownColumns(), schema.Style{})},
		{Name: "ProductCreate", Schema: ofPartner(spec.ForCreate(storefront.Products.RequestColumns(), schema.ParseOptions{}))},
		{Name: "ProductPatch", Schema: spec.ForPatch(storefront.Products.RequestColumns())},
		{Name: "Image", Schema: spec.Shown(storefront.Images.ShownColumns(), schema.Style{})},
	}
}
