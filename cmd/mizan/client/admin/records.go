package admin

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/schema"
)

// This file has the commands that list, show, create, change and delete records. A command's flags and table columns follow
// from the columns of the record type.

// describe sets the paths, flags and table columns of the commands for one record type.
func describe(t schema.AnyType, typePaths paths, list *listOfPartner, show *showRecord[client.ID], create *createRecord, update *updateRecord[client.ID], remove *deleteRecord[client.ID]) {
	list.path, list.columns = typePaths.list, tableColumns(t)
	show.path, create.path, update.path, remove.path = typePaths.record, typePaths.record, typePaths.record, typePaths.record
	create.Fields, update.Fields = flagsOf(t, false), flagsOf(t, true)
}

// recordID is the type of a record's id in a URL path.
type recordID interface {
	client.ID | client.PartnerNumber
}

// paths are the URL paths for one record type: the path of the list, and the path to which a record's id is appended.
type paths struct{ list, record string }

// leastImportant are the columns that a list of records leaves out on a narrow terminal, in this order.
var leastImportant = []string{"created_at", "updated_at", "network", "provider", "partner_id"}

// listRecords is a command that prints the records of one type.
type listRecords struct {
	client.Paging
	path    string
	columns []string
}

// Run lists the records.
func (c *listRecords) Run(e *client.Command) error {
	return e.List(client.Listing{Path: c.path, Columns: c.columns, OmitOrder: leastImportant}, c.Paging)
}

// listOfPartner is a command that prints all records of one type, or only the records of one partner.
type listOfPartner struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only the records of this partner."`
	client.Paging
	path    string
	columns []string
}

// Run lists the records.
func (c *listOfPartner) Run(e *client.Command) error {
	return e.List(client.Listing{Path: c.path, Query: partnerQuery(c.Partner), Columns: c.columns, OmitOrder: leastImportant}, c.Paging)
}

type showRecord[ID recordID] struct {
	ID   ID `arg:"" help:"The record's id."`
	path string
}

// Run shows one record.
func (c *showRecord[ID]) Run(e *client.Command) error { return e.Show(fmt.Sprint(c.path, "/", c.ID)) }

type createRecord struct {
	Fields any `embed:""` // struct of flags, made by flagsOf
	path   string
}

// Run creates a record.
func (c *createRecord) Run(e *client.Command) error {
	return e.Write(http.MethodPost, c.path, c.Fields)
}

type updateRecord[ID recordID] struct {
	ID     ID  `arg:"" help:"The record's id."`
	Fields any `embed:""` // struct of flags, made by flagsOf
	path   string
}

// Run changes a record.
func (c *updateRecord[ID]) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, fmt.Sprint(c.path, "/", c.ID), c.Fields)
}

type deleteRecord[ID recordID] struct {
	ID   ID `arg:"" help:"The record's id."`
	path string
}

// Run deletes a record.
func (c *deleteRecord[ID]) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, fmt.Sprint(c.path, "/", c.ID), nil)
}

// tableColumns returns the names of the columns in the table for a record type. The table shows what the server includes in
// lists, except secrets and JSON documents.
func tableColumns(t schema.AnyType) (names []string) {
	for _, column := range t.ShownColumns() {
		if column.Visibility != schema.OutsideLists && !column.Secret && column.Shape() != schema.Document {
			names = append(names, column.Name)
		}
	}
	return names
}

// flagsOf returns a new struct with a flag for each column that a create request for the record type may set. If isChange is
// true, the struct has a flag for each column that a change request may set. The struct also serves as the body of the request.
// The body omits flags that were not given.
func flagsOf(t schema.AnyType, isChange bool) any {
	var fields []reflect.StructField
	for i, column := range t.RequestColumns() {
		if isChange && column.Fixed {
			continue
		}
		flag, value := column.FlagName(), flagType(column)
		tag := fmt.Sprintf(`name:%q placeholder:%q help:%q json:"%s,omitzero"`, flag, placeholder(column), helpText(column), column.Name)
		switch value.Kind() {
		case reflect.Slice:
			tag += ` sep:"none"`
		case reflect.Pointer:
			if value.Elem().Kind() == reflect.Bool {
				tag += ` negatable:""`
			}
		}
		if column.Required && column.Kind == schema.KindInteger && !isChange {
			tag += ` required:""`
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: value, Tag: reflect.StructTag(tag)})
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// flagType returns the Go type of the flag for a column.
func flagType(column *schema.Column) reflect.Type {
	switch {
	case column.Secret || column.InputOnly:
		return reflect.TypeFor[client.Secret]()
	case column.Kind == schema.KindBool:
		return reflect.TypeFor[*bool]()
	case column.Kind == schema.KindInteger && column.Required:
		return reflect.TypeFor[client.PartnerNumber]()
	case column.Kind == schema.KindInteger:
		return reflect.TypeFor[*int64]()
	case column.Shape() == schema.Document:
		return reflect.TypeFor[client.Document]()
	case column.Shape() == schema.Number:
		return reflect.TypeFor[*client.Number]()
	case column.Shape() == schema.TextList:
		return reflect.TypeFor[client.StringList]()
	case column.RefuseEmpty != "" && !column.Required:
		return reflect.TypeFor[*client.NullText]()
	}
	return reflect.TypeFor[*string]()
}

// placeholder returns the word that represents a flag's value in the help text.
func placeholder(column *schema.Column) string {
	switch flagType(column) {
	case reflect.TypeFor[client.Secret]():
		return "FILE"
	case reflect.TypeFor[client.Document]():
		return "JSON|@FILE"
	case reflect.TypeFor[client.PartnerNumber](), reflect.TypeFor[*int64]():
		return "N"
	case reflect.TypeFor[*bool]():
		return ""
	}
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(column.FlagName(), "-url"), "-", "_"))
}

// helpText returns the help text of the flag for a column.
func helpText(column *schema.Column) string {
	text := strings.ToUpper(column.Help[:1]) + column.Help[1:]
	switch flagType(column) {
	case reflect.TypeFor[client.Secret]():
		text += "; in a file, - is stdin"
	case reflect.TypeFor[client.Document]():
		text += "; with secrets in it: a file, @- is stdin"
	case reflect.TypeFor[client.StringList]():
		text += "; may be repeated, an empty one empties the list"
	case reflect.TypeFor[*client.NullText](), reflect.TypeFor[*client.Number]():
		text += "; null removes it"
	}
	if len(column.Words) > 0 {
		text += ": " + schema.JoinWords(column.Words, "or")
	}
	return text + "."
}
