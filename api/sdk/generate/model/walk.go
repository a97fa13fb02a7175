package model

import (
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// walk converts a description to an API.
type walk struct {
	document     *description.Document
	api          *API
	enumerations map[string]string // words of an enumeration, joined by spaces → name of the component that declares it
	forPartners  bool              // partners may call all selected operations
}

func (w *walk) operation(d *Described) *Operation {
	o := &Operation{ID: d.ID, Method: d.Method, Path: d.Path, Tag: d.Tag, Summary: d.Summary, Text: d.Operation.Text, IsKeyed: d.IsKeyed, Described: d}
	at := place{name: upper(d.ID), isRequest: true}
	for _, p := range d.Parameters {
		f := Field{Name: p.Name, Text: p.Text, Value: w.value(p.Schema, at.member(p.Name)), IsRequired: p.Required, Default: p.Schema.Default, MayBeEmpty: p.MayBeEmpty}
		switch {
		case p.In == "path":
			o.PathFields = append(o.PathFields, f)
		case p.In == "query" && !w.isForOthers(p.Name, p.Text):
			o.Query = append(o.Query, f)
		}
	}
	if d.Body != nil {
		o.Body = w.body(d)
	}
	for i := range d.Responses {
		if r := &d.Responses[i]; !r.IsRefusal() {
			o.Result = w.result(r, d)
			break
		}
	}
	return o
}

// isForOthers tells whether a client leaves out a parameter or field. It does so if the service ignores the parameter or field
// or, in a client for partners, if only the operator may send it.
func (w *walk) isForOthers(name, text string) bool {
	return text == spec.Ignored || w.forPartners && (name == "partner_id" || strings.HasPrefix(text, spec.OnlyByAdminToken))
}

func (w *walk) body(d *Described) *Body {
	b := &Body{Media: d.Body.Media, IsOptional: d.Body.Optional}
	if b.Media == "" {
		b.Media = "application/json"
	}
	s := d.Body.Schema
	at := place{name: upper(d.ID) + "Request", isRequest: true, isPatch: d.Method == "PATCH"}
	if inner := w.document.Schema(s).Members; len(inner) == 1 && inner[0].Name == "params" {
		b.Envelope, s = "params", inner[0].Schema
	}
	b.Value = w.value(s, at)
	b.Value.IsNullable = false
	if b.Value.Kind == Named {
		t := w.api.Type(b.Value.Name)
		t.Fields = slices.DeleteFunc(t.Fields, func(f Field) bool { return w.isForOthers(f.Name, "") })
	}
	return b
}

func (w *walk) result(r *description.Response, d *Described) Result {
	result := Result{Status: r.Status, Media: r.MediaType()}
	at := place{name: upper(d.ID) + "Result"}
	switch {
	case result.Media == "":
	case r.Schema == nil || result.Media != "application/json":
		result.Kind = Content
	default:
		result.Kind = Single
		s := r.Schema
		members := w.document.Schema(s).Members
		names := make([]string, 0, len(members))
		for _, m := range members {
			names = append(names, m.Name)
		}
		switch {
		case slices.Equal(names, []string{"data"}):
			result.Envelope = "data"
			result.Value = w.value(members[0].Schema, at)
		case slices.Equal(names, []string{"data", "cursor"}):
			result.Kind = Page
			result.Value = w.value(members[0].Schema.Entry, place{name: upper(d.ID) + "Row"})
		default:
			result.Value = w.value(s, at)
		}
	}
	return result
}

// place describes where a value occurs.
type place struct {
	name               string // if the value is an object without a name, its type gets this name
	isRequest, isPatch bool
}

// member returns the place of a member of the object at p.
func (p place) member(name string) place {
	p.name += camel(name)
	return p
}

// value returns the form of a schema's values. It adds the types that occur in them to the API.
func (w *walk) value(s *spec.Schema, at place) Value {
	if s.Ref != "" {
		at.name = s.Ref
		at.isPatch = strings.HasSuffix(s.Ref, "Patch")
		return w.value(w.document.Schema(s), at)
	}
	if len(s.AnyOf) > 0 {
		return w.alternatives(s, at)
	}
	types := slices.DeleteFunc(slices.Clone(s.Types), func(name string) bool { return name == "null" })
	v := Value{IsNullable: len(types) < len(s.Types)}
	if len(types) != 1 {
		return v
	}
	switch types[0] {
	case "object":
		w.object(&v, s, at)
	case "array":
		at.name = strings.TrimSuffix(at.name, "s") // the type of an entry of "postings" is named after a posting
		entry := w.value(s.Entry, at)
		v.Kind, v.Entry = List, &entry
	case "string":
		w.text(&v, s)
	case "boolean":
		v.Kind = Bool
	case "integer":
		v.Kind = Integer
		if s.MinorUnits {
			v.Kind, v.AsNumber = Amount, true
		}
	case "number":
		v.Kind = Number
	}
	return v
}

// textFormats maps the formats that a schema can require of a text to kinds.
var textFormats = map[string]Kind{"date-time": Instant, "date": Day, "uuid": UUID, "byte": Bytes, "binary": Binary}

func (w *walk) text(v *Value, s *spec.Schema) {
	v.Kind, v.Words = Text, s.Words
	if kind, ok := textFormats[s.Format]; ok {
		v.Kind = kind
	}
	if s.MinorUnits {
		v.Kind = Amount
	}
	if name := w.enumerations[strings.Join(s.Words, " ")]; name != "" {
		v.Kind, v.Name = Named, name
		if w.api.Type(name) == nil {
			w.add(&Type{Name: name, Text: w.document.Schema(spec.Ref(name)).Text, Words: s.Words})
		}
	}
}

// alternatives returns the form of values that match one of several schemas. If all schemas are objects, the result is the
// object with the most members, which must have the members of all other objects.
func (w *walk) alternatives(s *spec.Schema, at place) Value {
	var largest *spec.Schema
	isNullable, onlyObjects, onlyAmounts := false, true, true
	for _, alternative := range s.AnyOf {
		resolved := w.document.Schema(alternative)
		if slices.Equal(resolved.Types, []string{"null"}) {
			isNullable = true
			continue
		}
		isNullable = isNullable || resolved.IsNullable()
		onlyObjects = onlyObjects && len(resolved.Types) > 0 && resolved.Types[0] == "object"
		onlyAmounts = onlyAmounts && resolved.MinorUnits
		if largest == nil || len(resolved.Members) > len(w.document.Schema(largest).Members) {
			largest = alternative
		}
	}
	isOne := len(s.AnyOf) == 1 || len(s.AnyOf) == 2 && isNullable
	if onlyAmounts { // the amount may be a text or an integer: clients send a text, because it can hold every amount
		return Value{Kind: Amount, IsNullable: isNullable}
	}
	if !isOne && !onlyObjects {
		return Value{Kind: Any, IsNullable: isNullable}
	}
	v := w.value(largest, at)
	v.IsNullable = v.IsNullable || isNullable
	return v
}

// object sets v to the form of an object. An open object, which may have unknown members, becomes a Map if it is in a response,
// so that a client sees the unknown members, too. In a request it becomes a Type, because all objects in requests are open.
func (w *walk) object(v *Value, s *spec.Schema, at place) {
	if len(s.Members) == 0 || s.Open && !at.isRequest {
		entry := Value{Kind: Any}
		if s.Others != nil {
			entry = w.value(s.Others, at.member("value"))
		}
		v.Kind, v.Entry = Map, &entry
		return
	}
	v.Kind, v.Name = Named, at.name
	if known := w.api.Type(at.name); known != nil {
		assert.That(len(known.Words) == 0, "model: two types %s", at.name)
		return
	}
	t := &Type{Name: at.name, Text: s.Text, IsRequest: at.isRequest, IsPatch: at.isPatch}
	w.add(t)
	for _, m := range s.Members {
		t.Fields = append(t.Fields, Field{
			Name: m.Name, Text: m.Schema.Text, Value: w.value(m.Schema, at.member(m.Name)), IsRequired: m.Required,
			IsWriteOnly: m.Schema.WriteOnly, Default: m.Schema.Default,
		})
	}
}

func (w *walk) add(t *Type) {
	w.api.names[t.Name] = t
	w.api.Types = append(w.api.Types, t)
}

// Names of the types of notifications.
const (
	TransactionEvent  = "TransactionEvent"
	SubscriptionEvent = "SubscriptionEvent"
)

// events adds the notifications. All notifications of a stream have the same type, because their schemas differ only in the
// allowed values of one member.
func (w *walk) events() {
	for i := range w.document.Webhooks {
		h := &w.document.Webhooks[i]
		name := SubscriptionEvent
		if strings.HasPrefix(h.Name, "transaction.") {
			name = TransactionEvent
		}
		var all []*spec.Schema
		for j := range w.document.Webhooks {
			if other := &w.document.Webhooks[j]; strings.HasPrefix(other.Name, strings.SplitAfter(h.Name, ".")[0]) {
				all = append(all, other.Body)
			}
		}
		w.api.Events = append(w.api.Events, &Event{Name: h.Name, Summary: h.Summary, Value: w.value(w.merged(all), place{name: name})})
	}
}

// merged returns a closed schema that has the members of all schemas. If a member is an enumeration, it may have the words of
// all schemas.
func (w *walk) merged(all []*spec.Schema) *spec.Schema {
	first := *w.document.Schema(all[0])
	first.Open = first.Open && len(first.Members) == 0
	for _, other := range all[1:] {
		for _, word := range other.Words {
			if len(first.Words) > 0 && !slices.Contains(first.Words, word) {
				first.Words = append(slices.Clone(first.Words), word)
			}
		}
	}
	first.Members = slices.Clone(first.Members)
	for i, m := range first.Members {
		same := []*spec.Schema{m.Schema}
		for _, other := range all[1:] {
			for _, n := range other.Members {
				if n.Name == m.Name {
					same = append(same, n.Schema)
				}
			}
		}
		first.Members[i].Schema = w.merged(same)
	}
	return &first
}
