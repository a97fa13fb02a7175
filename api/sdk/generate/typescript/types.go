package typescript

import (
	"fmt"
	"slices"
	"strings"

	"mizan/api/sdk/generate/model"
	"mizan/internal/assert"
)

// typesFile returns the content of the file that declares the types.
func (w *writer) typesFile() []byte {
	w.write(header, "/* The types of requests and responses. Amounts are bigints of minor units; times are texts in the form of RFC 3339. */\n\n")
	if w.client.hasEvents {
		w.comment("", "Why a request was refused. The page `/docs/errors` of the server says what each code means, and what to do.")
		w.write("export type ErrorCode = ", words(w.errorCodes()), ";\n")
	}
	for _, t := range w.api.Types {
		if w.isWritten(t.Name) {
			w.typeOf(t)
		}
	}
	for _, o := range w.api.Operations {
		if len(o.Query) > 0 {
			w.write("\n")
			w.comment("", fmt.Sprintf("The parameters of %s.", o.ID))
			w.fields(o.QueryType(), "", o.Query, true)
		}
	}
	for _, smaller := range w.smallerResults() {
		w.write("\n")
		w.comment("", smaller.text)
		w.write("export type ", smaller.name, " = Pick<", smaller.of, ", ", words(smaller.members), ">;\n")
	}
	return w.take()
}

// shapesFile returns the content of the file with the shapes, which list the places of amounts in the types. If there are no
// shapes, it returns nil.
func (w *writer) shapesFile() []byte {
	w.shapes = make(map[string]string)
	w.write(header, `import type { Shape } from "../json.js";`, "\n")
	before := w.text.Len()
	for _, t := range w.api.Types {
		if w.isWritten(t.Name) {
			w.shapeOfType(t.Name)
		}
	}
	isEmpty := w.text.Len() == before
	if content := w.take(); !isEmpty {
		return content
	}
	return nil
}

// isWritten tells whether this client's file declares the type. Types of notifications are declared for only one client.
func (w *writer) isWritten(name string) bool {
	return w.client.hasEvents || !strings.HasPrefix(name, model.TransactionEvent) && !strings.HasPrefix(name, model.SubscriptionEvent)
}

func (w *writer) typeOf(t *model.Type) {
	w.write("\n")
	w.comment("", t.Text)
	if len(t.Words) > 0 {
		w.write("export type ", t.Name, " = ", words(t.Words), ";\n")
		return
	}
	w.fields(t.Name, "", t.Fields, t.IsRequest)
}

// jsonForm removes the description's remarks about the JSON form of amounts, because the client converts amounts itself.
var jsonForm = strings.NewReplacer("minor units, as a string of digits above zero; a JSON number is refused", "minor units, above zero",
	"a string of minor units", "in minor units", "minor units, a JSON number here", "minor units")

// fields writes an interface. A program may set an optional member of a request to undefined, which means that the member is
// absent.
func (w *writer) fields(name, indent string, fields []model.Field, isRequest bool) {
	w.write(indent, "export interface ", name, " {\n")
	for i := range fields {
		f := &fields[i]
		text := f.Text
		if f.Value.Kind == model.Amount {
			text = jsonForm.Replace(text)
		}
		if f.Default != nil && isRequest {
			text = strings.TrimSuffix(text, ".") + fmt.Sprintf(". Default: `%v`.", f.Default)
		}
		w.comment(indent+"  ", text)
		mark, absent := "", ""
		if !f.IsRequired {
			mark = "?"
			if isRequest {
				absent = " | undefined"
			}
		}
		w.write(indent, "  ", memberName(f.Name), mark, ": ", typeName(&f.Value), absent, ";\n")
	}
	w.write(indent, "}\n")
}

// typeName returns the TypeScript type of a value.
func typeName(v *model.Value) string {
	name := "unknown"
	switch v.Kind {
	case model.Any:
		return name // unknown includes null
	case model.Text:
		name = "string"
		if len(v.Words) > 0 {
			name = words(v.Words)
		}
	case model.Bool:
		name = "boolean"
	case model.Integer, model.Number:
		name = "number"
	case model.Amount:
		name = "bigint"
	case model.Instant, model.Day, model.UUID, model.Bytes:
		name = "string"
	case model.Binary:
		name = "Uint8Array"
	case model.List:
		name = typeName(v.Entry)
		if strings.Contains(name, " ") {
			name = "(" + name + ")"
		}
		name += "[]"
	case model.Map:
		name = "{ [member: string]: " + typeName(v.Entry) + " }"
	case model.Named:
		name = v.Name
	default:
		assert.That(false, "typescript: a value of kind %d", v.Kind)
	}
	if v.IsNullable {
		name += " | null"
	}
	return name
}

// smallerResult is a component that has only some of the members of another component. An operation responds with one of the
// two components.
type smallerResult struct {
	name, of, text string
	members        []string
}

// smallerResults returns the components that occur only in responses, as the alternative with fewer members.
func (w *writer) smallerResults() (list []smallerResult) {
	for _, o := range w.api.Operations {
		for i := range o.Described.Responses {
			r := &o.Described.Responses[i]
			if r.IsRefusal() || r.Schema == nil {
				continue
			}
			for _, alternative := range r.Schema.AnyOf {
				if alternative.Ref == "" || alternative.Ref == o.Result.Value.Name {
					continue
				}
				s := w.document.Schema(alternative)
				small := smallerResult{name: alternative.Ref, of: o.Result.Value.Name, text: s.Text}
				for _, m := range s.Members {
					small.members = append(small.members, m.Name)
				}
				list = append(list, small)
			}
		}
	}
	return list
}

// alternativesOf returns the types that an operation's result may have besides its usual type.
func (w *writer) alternativesOf(o *model.Operation) (names []string) {
	for i := range o.Described.Responses {
		r := &o.Described.Responses[i]
		if r.IsRefusal() || r.Schema == nil {
			continue
		}
		for _, alternative := range r.Schema.AnyOf {
			if alternative.Ref != "" && alternative.Ref != o.Result.Value.Name {
				names = append(names, alternative.Ref)
			}
		}
	}
	return names
}

// shapeOfType returns the name of a type's shape, or an empty name if the type has no amounts. The first call for a type
// writes the shape.
func (w *writer) shapeOfType(name string) string {
	if shape, isKnown := w.shapes[name]; isKnown {
		return shape
	}
	w.shapes[name] = "" // without this, a type that contains itself would recurse forever
	t := w.api.Type(name)
	var members []string
	for i := range t.Fields {
		if shape := w.shapeOf(&t.Fields[i].Value); shape != "" {
			members = append(members, memberName(t.Fields[i].Name)+": "+shape)
		}
	}
	if len(members) == 0 {
		return ""
	}
	shape := lower(name) + "Shape"
	w.shapes[name] = shape
	w.write("\n/** Where the amounts of ", name, " are. */\nexport const ", shape, " = { ", strings.Join(members, ", "), " } as const satisfies Shape;\n")
	return shape
}

// shapeOf returns the shape of a value, or an empty text if the value has no amounts.
func (w *writer) shapeOf(v *model.Value) string {
	switch v.Kind {
	case model.Amount:
		if v.AsNumber {
			return `"number"`
		}
		return `"text"`
	case model.List:
		if shape := w.shapeOf(v.Entry); shape != "" {
			return "[" + shape + "]"
		}
	case model.Map:
		assert.That(w.shapeOf(v.Entry) == "", "typescript: a map of amounts has no shape")
	case model.Named:
		return w.shapeOfType(v.Name)
	}
	return ""
}

// namesIn adds the names of the types to which a value refers.
func namesIn(names []string, v *model.Value) []string {
	if v.Entry != nil {
		return namesIn(names, v.Entry)
	}
	if v.Kind == model.Named && !slices.Contains(names, v.Name) {
		names = append(names, v.Name)
	}
	return names
}
