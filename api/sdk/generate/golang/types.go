package golang

import (
	"fmt"
	"slices"
	"strings"

	"mizan/api/sdk/generate/model"
)

// enumerationPrefixes maps an enumeration to the prefix of its constants' names.
var enumerationPrefixes = map[string]string{"TransactionStatus": "Status", "FailureCode": "Failure"}

// types returns the Go source of all type declarations.
func types(a *model.API) string {
	var b strings.Builder
	for _, t := range a.Types {
		if len(t.Words) > 0 {
			enumeration(&b, t)
		} else {
			object(&b, t)
		}
	}
	events(&b, a)
	source := b.String()
	if strings.Contains(source, "time.Time") {
		source = "import \"time\"\n\n" + source
	}
	return source
}

func enumeration(b *strings.Builder, t *model.Type) {
	name, prefix := goName(t.Name), goName(t.Name)
	if known, ok := enumerationPrefixes[t.Name]; ok {
		prefix = known
	}
	fmt.Fprintf(b, "%stype %s string\n\n", comment("", name+": "+sentence(t.Text)), name)
	fmt.Fprintf(b, "// The values of %s.\nconst (\n", name)
	for _, word := range t.Words {
		fmt.Fprintf(b, "\t%s%s %s = %q\n", prefix, goName(word), name, word)
	}
	b.WriteString(")\n\n")
}

func object(b *strings.Builder, t *model.Type) {
	name := goName(t.Name)
	text := name + ": " + sentence(t.Text)
	switch {
	case t.Text != "":
	case t.IsPatch:
		text = name + " is a merge patch: it changes the fields that it has."
	case t.IsRequest:
		text = name + " is sent with a request."
	default:
		text = name + " is a part of a response."
	}
	fmt.Fprintf(b, "%stype %s struct {\n", comment("", text), name)
	for i := range t.Fields {
		f := &t.Fields[i]
		typeName, tag := fieldType(t, f)
		lines := sentence(f.Text)
		if n := len(f.Value.Words); n > 1 && f.Value.Kind != model.Named {
			lines = strings.TrimSpace(lines + " One of: " + strings.Join(f.Value.Words, ", ") + ".")
		}
		if lines != "" {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(comment("\t", lines))
		}
		fmt.Fprintf(b, "\t%s %s `json:%q`\n", goName(f.Name), typeName, f.Name+tag)
	}
	b.WriteString("}\n\n")
}

// fieldType returns the Go type of a field, and the options in the field's JSON tag.
func fieldType(t *model.Type, f *model.Field) (typeName, tag string) {
	base := goType(&f.Value)
	switch {
	case t.IsPatch:
		return "Change[" + base + "]", ",omitzero"
	case !t.IsRequest:
		if f.Value.IsNullable && hasMeaningfulZero(&f.Value) || !f.IsRequired && isStruct(&f.Value) {
			base = "*" + base
		}
		return base, ""
	case f.IsRequired:
		return base, ""
	case hasMeaningfulZero(&f.Value) && (f.Value.Kind != model.Bool || f.Default == true):
		base = "*" + base
	}
	return base, ",omitzero"
}

// hasMeaningfulZero tells whether the zero value of the value's Go type could also be a value that
// was sent.
func hasMeaningfulZero(v *model.Value) bool {
	return slices.Contains([]model.Kind{model.Integer, model.Bool, model.Number, model.Amount}, v.Kind) || isStruct(v)
}

// isStruct tells whether the value's Go type is a struct. Named values that are not structs are
// enumerations, which are texts.
func isStruct(v *model.Value) bool { return v.Kind == model.Named && len(v.Words) == 0 }

// goType returns the Go type of a value that is neither absent nor null.
func goType(v *model.Value) string {
	switch v.Kind {
	case model.Text, model.Day, model.UUID:
		return "string"
	case model.Bool:
		return "bool"
	case model.Integer:
		return "int64"
	case model.Number:
		return "json.Number"
	case model.Amount:
		if v.AsNumber {
			return "NumberAmount"
		}
		return "Amount"
	case model.Instant:
		return "time.Time"
	case model.Bytes, model.Binary:
		return "[]byte"
	case model.List:
		return "[]" + goType(v.Entry)
	case model.Map:
		if v.Entry.Kind == model.Any {
			return "Object"
		}
		return "map[string]" + goType(v.Entry)
	case model.Named:
		return goName(v.Name)
	}
	return "any"
}

// events writes constants for the types of notifications.
func events(b *strings.Builder, a *model.API) {
	b.WriteString("// The types of notifications. More may be added: acknowledge an unknown one, and do nothing.\nconst (\n")
	for _, e := range a.Events {
		fmt.Fprintf(b, "\tEvent%s = %q // %s\n", goName(e.Name), e.Name, sentence(e.Summary))
	}
	b.WriteString(")\n")
}
