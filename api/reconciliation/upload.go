package reconciliation

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"time"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	reconciliationactor "mizan/actors/reconciliation"
	"mizan/actors/reconciliation/csvfile"
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
)

// Bounds of an upload.
const (
	maxBody  = reconciliationactor.MaxFile + 64<<10 // bytes of the whole body
	maxParts = 16                                   // parts of the multipart body, including the file
	maxField = 16 << 10                             // bytes of a field other than the file
)

// importWait is how long an import may take, in real time. After that time the request fails, and the same upload continues the
// import.
const importWait = 5 * time.Minute

const opImport = "reconciliation.importReport"

// importReport is POST /reconciliation/reports, a multipart body with terminal_id, format, mapping and file.
func (h *Handlers) importReport(req *web.Request) error {
	org, err := h.organization(req)
	if err != nil {
		return err
	}
	fields, err := readFields(req)
	if err != nil {
		return err
	}
	u, err := fields.upload(org)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(directoryactor.WithAuthor(context.Background(), req.Author()), importWait)
	defer cancel()
	report, isRepeated, err := h.cfg.Service.Import(ctx, u)
	if err != nil {
		return err
	}
	if isRepeated {
		web.MarkReplayed(req)
	}
	web.WriteOne(req, fiber.StatusCreated, false, report, showReport)
	return nil
}

// fields are the parts of an upload by name.
type fields map[string][]byte

// readFields reads a body of type multipart/form-data. The file refers to the request's body.
func readFields(req *web.Request) (fields, error) {
	media, parameters, err := mime.ParseMediaType(string(req.Request.Header.ContentType()))
	if err != nil || media != fiber.MIMEMultipartForm || parameters["boundary"] == "" {
		return nil, ledger.Refuse(opImport, web.UnsupportedMediaType, "the body must be multipart/form-data")
	}
	parts := multipart.NewReader(bytes.NewReader(req.Request.Body()), parameters["boundary"])
	out := make(fields)
	for range maxParts + 1 { // one more, because the last call finds the end
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, ledger.Refuse(opImport, web.BadRequest, "the body is malformed")
		}
		name, limit := part.FormName(), maxField
		switch name {
		case "file":
			limit = reconciliationactor.MaxFile
		case "terminal_id", "format", "mapping":
		default:
			continue
		}
		if _, isKnown := out[name]; isKnown {
			return nil, ledger.RefuseField(opImport, name, "%s must be sent once", name)
		}
		content, err := io.ReadAll(io.LimitReader(part, int64(limit)+1))
		if err != nil {
			return nil, ledger.Refuse(opImport, web.BadRequest, "the body is malformed")
		}
		if len(content) > limit {
			return nil, ledger.Refuse(opImport, web.PayloadTooLarge, "the part %s is larger than %d bytes", name, limit)
		}
		out[name] = content
	}
	return nil, ledger.Refuse(opImport, web.BadRequest, "the body has more than %d parts", maxParts)
}

// upload checks the parts. All problems are reported together.
func (f fields) upload(org ledger.ID) (reconciliationactor.Upload, error) {
	u := reconciliationactor.Upload{Org: org, Format: string(f["format"])}
	var problems web.Problems
	id, err := web.ParseID(string(f["terminal_id"]))
	switch u.Terminal = id; {
	case len(f["terminal_id"]) == 0:
		problems.Add("terminal_id", "terminal_id is required")
	case err != nil:
		problems.Add("terminal_id", "terminal_id must be a UUID")
	}
	content, hasFile := f["file"]
	u.Content = content
	switch u.Format {
	case reconciliation.FormatStripe:
		if hasFile {
			problems.Add("file", "file is not sent for stripe: the lines are fetched")
		}
	case reconciliation.FormatCSV, reconciliation.FormatCAMT053:
		if !hasFile {
			problems.Add("file", "file is required")
		}
	case "":
		problems.Add("format", "format is required")
	default:
		problems.Add("format", "format must be "+schema.JoinWords(reconciliation.Formats, "or"))
	}
	if mapping, isSent := f["mapping"]; u.Format == reconciliation.FormatCSV {
		readMapping(mapping, &u.Mapping, &problems)
	} else if isSent {
		problems.Add("mapping", "mapping is for csv only")
	}
	return u, problems.Err()
}

// readMapping reads the JSON object with the names of the columns.
func readMapping(object []byte, m *csvfile.Mapping, problems *web.Problems) {
	object = bytes.TrimSpace(object)
	if len(object) == 0 {
		problems.Add("mapping", "mapping is required: a JSON object with the names of the columns")
		return
	}
	if _, err := web.Document(object); err != nil || !web.IsObject(object) {
		problems.Add("mapping", "mapping must be a JSON object")
		return
	}
	members := m.Members()
	walk := jsonwalk.MembersOf(object)
next:
	for name, value, more := walk.Next(); more; name, value, more = walk.Next() {
		for _, member := range members {
			if member.Name != string(name) {
				continue
			}
			text, isText := jsonwalk.Text(value)
			if !isText {
				problems.Add("mapping."+member.Name, "must be a string")
			}
			*member.Value = string(text)
			continue next
		}
		problems.Add("mapping", "mapping has an unknown member")
	}
	for _, member := range members {
		if member.IsRequired && *member.Value == "" {
			problems.Add("mapping."+member.Name, "is required")
		}
	}
	if m.Scale != "" && m.Scale != csvfile.Major && m.Scale != csvfile.Minor {
		problems.Add("mapping.scale", "must be major or minor")
	}
}
