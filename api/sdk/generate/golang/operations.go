package golang

import (
	"fmt"
	"strings"

	"mizan/api/sdk/generate/model"
)

// operations returns the Go source of the client's methods.
func operations(a *model.API) string {
	var b strings.Builder
	b.WriteString("import (\n\"context\"\n\"iter\"\n\"net/url\"\n\"time\"\n)\n\n")
	for _, o := range a.Operations {
		if o.Body != nil && o.Body.Media != "application/json" && o.Body.Media != "multipart/form-data" {
			panic("golang: " + o.ID + " has a body of type " + o.Body.Media)
		}
		if len(o.Query) > 0 {
			query(&b, o)
		}
		method(&b, o)
		if o.IsPaged() {
			iterator(&b, o)
		}
	}
	source := b.String()
	for _, name := range []string{"time", "iter", "net/url"} {
		if last := name[strings.LastIndexByte(name, '/')+1:]; !strings.Contains(source, last+".") {
			source = strings.Replace(source, fmt.Sprintf("%q\n", name), "", 1)
		}
	}
	return source
}

// query writes the struct type for the parameters in an operation's query.
func query(b *strings.Builder, o *model.Operation) {
	name := goName(o.QueryType())
	fmt.Fprintf(b, "// %s has the parameters of %s; zero values are left out.\ntype %s struct {\n", name, goName(o.ID), name)
	for i := range o.Query {
		f := &o.Query[i]
		text := sentence(f.Text)
		if len(f.Value.Words) > 1 {
			text += " One of: " + strings.Join(f.Value.Words, ", ") + "."
		}
		if f.Default != nil {
			text += fmt.Sprintf(" Default: %v.", f.Default)
		}
		optional := ""
		if f.MayBeEmpty {
			optional = "*"
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s\t%s %s\n", comment("\t", text), goName(f.Name), optional+goType(&f.Value))
	}
	fmt.Fprintf(b, "}\n\nfunc (q *%s) values() url.Values {\n\tvalues := url.Values{}\n", name)
	for i := range o.Query {
		fmt.Fprintf(b, "\tsetQuery(values, %q, q.%s)\n", o.Query[i].Name, goName(o.Query[i].Name))
	}
	b.WriteString("\treturn values\n}\n\n")
}

// signature is what an operation's method and the method's iterator over all pages have in common.
type signature struct {
	parameters string // the parameters after ctx, with a comma before each
	call       string // the composite literal of type call
}

func signatureOf(o *model.Operation) signature {
	var s signature
	fields := []string{fmt.Sprintf("method: %q", o.Method), fmt.Sprintf("path: %q", o.Path)}
	var segments []string
	for _, f := range o.PathFields {
		s.parameters += ", " + localName(f.Name) + " string"
		segments = append(segments, localName(f.Name))
	}
	if len(segments) > 0 {
		fields = append(fields, "segments: []string{"+strings.Join(segments, ", ")+"}")
	}
	if len(o.Query) > 0 {
		s.parameters += ", query " + goName(o.QueryType())
		fields = append(fields, "query: query.values()")
	}
	switch {
	case !o.Body.HasContent():
	case o.Body.Media == "multipart/form-data":
		s.parameters += ", file []byte"
		fields = append(fields, fmt.Sprintf("fileField: %q", fileField(o)), "file: file")
	default:
		s.parameters += ", request " + goType(&o.Body.Value)
		fields = append(fields, "body: request")
		if o.Body.Envelope != "" {
			fields = append(fields, fmt.Sprintf("envelope: %q", o.Body.Envelope))
		}
	}
	if o.IsKeyed {
		fields = append(fields, "isKeyed: true")
	}
	if o.Result.Envelope == "data" {
		fields = append(fields, "inData: true")
	}
	s.call = "&call{" + strings.Join(fields, ", ") + "}"
	return s
}

// fileField returns the name of the form field that contains the file.
func fileField(o *model.Operation) string { return o.Described.Body.Schema.Members[0].Name }

func method(b *strings.Builder, o *model.Operation) {
	s := signatureOf(o)
	result, call := "error", "nothing"
	value := &o.Result.Value
	switch {
	case o.Result.Kind == model.Content:
		panic("golang: " + o.ID + " has a result of type " + o.Result.Media)
	case o.IsPaged():
		result, call = "(*Page["+goType(value)+"], error)", "onePage["+goType(value)+"]"
	case o.Result.Kind == model.Single && value.Kind == model.List:
		result, call = "("+goType(value)+", error)", "several["+goType(value.Entry)+"]"
	case o.Result.Kind == model.Single:
		result, call = "(*"+goType(value)+", error)", "single["+goType(value)+"]"
	}
	b.WriteString(comment("", goName(o.ID)+": "+sentence(o.Summary)))
	if o.Text != "" {
		b.WriteString("//\n" + comment("", strings.ReplaceAll(o.Text, "](/docs/", "](https://127.0.0.1:8443/docs/")))
	}
	fmt.Fprintf(b, "//\n// %s %s\nfunc (c *Client) %s(ctx context.Context%s, options ...Option) %s {\n\treturn %s(ctx, c, %s, options)\n}\n\n",
		o.Method, o.Path, goName(o.ID), s.parameters, result, call, s.call)
}

// iterator writes a method that iterates over the rows of all pages.
func iterator(b *strings.Builder, o *model.Operation) {
	s := signatureOf(o)
	name, row := "All"+strings.TrimPrefix(strings.TrimPrefix(goName(o.ID), "List"), "Get"), goType(&o.Result.Value)
	b.WriteString(comment("", name+" returns the rows of all pages of "+goName(o.ID)+". After an error there are no more rows."))
	fmt.Fprintf(b, "func (c *Client) %s(ctx context.Context%s, options ...Option) iter.Seq2[%s, error] {\n\treturn allPages[%s](ctx, c, %s, options)\n}\n\n",
		name, s.parameters, row, row, s.call)
}
