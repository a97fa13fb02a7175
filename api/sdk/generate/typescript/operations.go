package typescript

import (
	"fmt"
	"slices"
	"strings"

	"mizan/api/sdk/generate/model"
)

// operationsFile returns the content of the file that declares the class with the client's operations.
func (w *writer) operationsFile() []byte {
	var methods, table writer
	var types, shapes []string
	hasPages := false
	for _, o := range w.api.Operations {
		w.row(&table, o, &shapes)
		w.method(&methods, o)
		hasPages = hasPages || o.IsPaged()
		types = namesIn(types, &o.Result.Value)
		types = append(types, w.alternativesOf(o)...)
		if o.Body.HasContent() {
			types = namesIn(types, &o.Body.Value)
		}
		if len(o.Query) > 0 {
			types = append(types, o.QueryType())
		}
	}
	slices.Sort(types)
	types = slices.Compact(types)
	slices.Sort(shapes)
	shapes = slices.Compact(shapes)

	w.write(header, "\n", `import { Client, type Operation, type RequestOptions } from "../client.js";`, "\n")
	if hasPages {
		w.write(`import type { Page, Pages } from "../pages.js";`, "\n")
	}
	w.write("import type {\n  ", strings.Join(types, ",\n  "), ",\n} from \"./", w.client.file, "_types.js\";\n")
	if len(shapes) > 0 {
		w.write("import {\n  ", strings.Join(shapes, ",\n  "), ",\n} from \"./", w.client.file, "_shapes.js\";\n")
	}
	w.write("\nconst operations = {\n", table.text.String(), "} as const satisfies { [id: string]: Operation };\n\n")
	w.comment("", w.client.text)
	w.write("export class ", w.client.class, " extends Client {\n", strings.TrimPrefix(methods.text.String(), "\n"), "}\n")
	return w.take()
}

// row writes an operation's row in the client's table of operations: the method, the path, and properties of the request
// and the response.
func (w *writer) row(table *writer, o *model.Operation, shapes *[]string) {
	row := fmt.Sprintf("method: %q, path: %q", o.Method, o.Path)
	if o.IsKeyed {
		row += ", keyed: true"
	}
	shape := func(v *model.Value) string {
		text := w.shapeOf(v)
		if name := strings.Trim(text, "[]"); strings.HasSuffix(name, "Shape") {
			*shapes = append(*shapes, name)
		}
		return text
	}
	if b := o.Body; b.HasContent() {
		if b.Media == "multipart/form-data" {
			row += `, form: "multipart"`
		}
		text := shape(&b.Value)
		if b.Envelope != "" {
			row += fmt.Sprintf(", wrap: %q", b.Envelope)
			if text != "" {
				text = "{ " + b.Envelope + ": " + text + " }"
			}
		}
		if text != "" {
			row += ", body: " + text
		}
	}
	switch r := &o.Result; r.Kind {
	case model.Single, model.Page:
		text := shape(&r.Value)
		switch {
		case text == "":
		case r.Kind == model.Page:
			row += ", response: { data: [" + text + "] }"
		case r.Envelope != "":
			row += ", response: { " + r.Envelope + ": " + text + " }"
		default:
			row += ", response: " + text
		}
		if r.Kind == model.Single && r.Envelope != "" {
			row += fmt.Sprintf(", unwrap: %q", r.Envelope)
		}
	case model.Content:
		row += ", text: true"
	}
	table.write("  ", o.ID, ": { ", row, " },\n")
}

// method writes the class method that calls an operation.
func (w *writer) method(methods *writer, o *model.Operation) {
	var parameters, path []string
	for i := range o.PathFields {
		name := argumentName(o.PathFields[i].Name)
		parameters, path = append(parameters, name+": "+typeName(&o.PathFields[i].Value)), append(path, name)
	}
	argument, query := "undefined", "undefined"
	if o.Body.HasContent() {
		argument = "params"
		parameters = append(parameters, "params"+mark(o.Body.IsOptional)+": "+typeName(&o.Body.Value))
	}
	if len(o.Query) > 0 {
		query = "query"
		isOptional := !slices.ContainsFunc(o.Query, func(f model.Field) bool { return f.IsRequired })
		parameters = append(parameters, "query"+mark(isOptional)+": "+o.QueryType())
	}
	parameters = append(parameters, "options?: RequestOptions")

	methods.write("\n")
	methods.comment("  ", o.Summary+".", o.Text)
	arguments := fmt.Sprintf("operations.%s, [%s]", o.ID, strings.Join(path, ", "))
	if o.IsPaged() {
		row := typeName(&o.Result.Value)
		methods.write("  ", o.ID, "(", strings.Join(parameters, ", "), "): Pages<", row, "> {\n",
			"    return this.pages<", row, ", Page<", row, ">>(", arguments, ", ", query, ", options);\n  }\n")
		return
	}
	result := "void"
	switch o.Result.Kind {
	case model.Single:
		result = strings.Join(append([]string{typeName(&o.Result.Value)}, w.alternativesOf(o)...), " | ")
	case model.Content:
		result = "string"
	}
	methods.write("  ", o.ID, "(", strings.Join(parameters, ", "), "): Promise<", result, "> {\n",
		"    return this.send<", result, ">(", arguments, ", ", argument, ", ", query, ", options);\n  }\n")
}

// argumentName returns the name of the method's argument for a parameter of the path.
func argumentName(name string) string {
	parts := strings.Split(name, "_")
	for i := range parts[1:] {
		parts[i+1] = upper(parts[i+1])
	}
	return strings.Join(parts, "")
}

func mark(isOptional bool) string {
	if isOptional {
		return "?"
	}
	return ""
}
