package admin

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/schema"
)

// The commands of record types. Their flags and the columns of their tables are made from the type's
// columns.

// describe gives the commands of a record type their paths, flags and tables.
func describe(t schema.AnyType, at paths, list *listOfPartner, show *showRecord[client.ID], create *createRecord, update *updateRecord[client.ID], remove *deleteRecord[client.ID]) {
	list.path, list.columns = at.list, tableColumns(t)
	show.path, create.path, update.path, remove.path = at.one, at.one, at.one, at.one
	create.Fields, update.Fields = flagsOf(t, false), flagsOf(t, true)
}

// recordID is the type of id in the path of a record.
type recordID interface {
	client.ID | client.PartnerNumber
}

// paths are where the server has the records of a type.
type paths struct{ list, one string }

// listRecords prints the records of a type.
type listRecords struct {
	client.Paging
	path    string
	columns []string
}

// Run is called by kong.
func (c *listRecords) Run(e *client.Command) error {
	return e.List(client.Listing{Path: c.path, Columns: c.columns}, c.Paging)
}

// listOfPartner prints the records of a type, or only those of a partner.
type listOfPartner struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only this partner's."`
	client.Paging
	path    string
	columns []string
}

// Run is called by kong.
func (c *listOfPartner) Run(e *client.Command) error {
	return e.List(client.Listing{Path: c.path, Query: partnerQuery(c.Partner), Columns: c.columns}, c.Paging)
}

type showRecord[ID recordID] struct {
	ID   ID `arg:"" help:"The record's id."`
	path string
}

// Run is called by kong.
func (c *showRecord[ID]) Run(e *client.Command) error { return e.Show(fmt.Sprint(c.path, "/", c.ID)) }

type createRecord struct {
	Fields any `embed:""` // made by flagsOf
	path   string
}

// Run is called by kong.
func (c *createRecord) Run(e *client.Command) error {
	return e.Write(http.MethodPost, c.path, c.Fields)
}

type updateRecord[ID recordID] struct {
	ID     ID  `arg:"" help:"The record's id."`
	Fields any `embed:""` // made by flagsOf
	path   string
}

// Run is called by kong.
func (c *updateRecord[ID]) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, fmt.Sprint(c.path, "/", c.ID), c.Fields)
}

type deleteRecord[ID recordID] struct {
	ID   ID `arg:"" help:"The record's id."`
	path string
}

// Run is called by kong.
func (c *deleteRecord[ID]) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, fmt.Sprint(c.path, "/", c.ID), nil)
}

// tableColumns returns the columns of a type's table: those that are shown in lists, without secrets and documents.
func tableColumns(t schema.AnyType) (names []string) {
	for _, c := range t.Shown() {
		if c.Place != schema.Deep && !c.Secret && c.Shape() != schema.Document {
			names = append(names, c.Name)
		}
	}
	return names
}

// flagsOf returns a new struct with a flag for each column that a create request may set or, with
// change, for each column that a change request may set. The struct is also the body of the request: a
// flag that was not given is not sent.
func flagsOf(t schema.AnyType, change bool) any {
	var fields []reflect.StructField
	for i, c := range t.Requested() {
		if change && c.Fixed {
			continue
		}
		flag, value := c.FlagName(), flagType(c)
		tag := fmt.Sprintf(`name:%q placeholder:%q help:%q json:"%s,omitzero"`, flag, placeholder(c), helpText(c), c.Name)
		switch value.Kind() {
		case reflect.Slice:
			tag += ` sep:"none"`
		case reflect.Pointer:
			if value.Elem().Kind() == reflect.Bool {
				tag += ` negatable:""`
			}
		}
		if c.Required && c.Kind == schema.KindInteger && !change {
			tag += ` required:""`
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: value, Tag: reflect.StructTag(tag)})
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// flagType returns the type of a column's flag.
func flagType(c *schema.Column) reflect.Type {
	switch {
	case c.Secret || c.InputOnly:
		return reflect.TypeFor[client.Secret]()
	case c.Kind == schema.KindBool:
		return reflect.TypeFor[*bool]()
	case c.Kind == schema.KindInteger && c.Required:
		return reflect.TypeFor[client.PartnerNumber]()
	case c.Kind == schema.KindInteger:
		return reflect.TypeFor[*int64]()
	case c.Shape() == schema.Document:
		return reflect.TypeFor[client.Document]()
	case c.Shape() == schema.TextList:
		return reflect.TypeFor[client.StringList]()
	case c.RefuseEmpty != "":
		return reflect.TypeFor[*client.NullText]()
	}
	return reflect.TypeFor[*string]()
}

// placeholder names a flag's value in its help.
func placeholder(c *schema.Column) string {
	switch flagType(c) {
	case reflect.TypeFor[client.Secret]():
		return "FILE"
	case reflect.TypeFor[client.Document]():
		return "JSON|@FILE"
	case reflect.TypeFor[client.PartnerNumber](), reflect.TypeFor[*int64]():
		return "N"
	case reflect.TypeFor[*bool]():
		return ""
	}
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(c.FlagName(), "-url"), "-", "_"))
}

// helpText returns the help text of a column's flag.
func helpText(c *schema.Column) string {
	text := strings.ToUpper(c.Help[:1]) + c.Help[1:]
	switch flagType(c) {
	case reflect.TypeFor[client.Secret]():
		text += "; in a file, - is stdin"
	case reflect.TypeFor[client.Document]():
		text += "; with secrets in it: a file, @- is stdin"
	case reflect.TypeFor[client.StringList]():
		text += "; may be repeated, an empty one empties the list"
	case reflect.TypeFor[*client.NullText]():
		text += "; null removes it"
	}
	if len(c.Words) > 0 {
		text += ": " + schema.JoinWords(c.Words, "or")
	}
	return text + "."
}
