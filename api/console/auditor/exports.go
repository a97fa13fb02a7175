package auditor

import (
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/visit"
	"mizan/api/ledger/export"
	"mizan/api/web"
)

// formatChoice is a file format that the form of an export offers.
type formatChoice struct {
	Name, Text string
	IsChosen   bool
}

type exportsPage struct {
	Filters  filters
	Formats  []formatChoice
	Download string // address of the file that the form describes; empty if the form was not sent yet
	Size     string // the file's estimated length; empty if the file is short, or if there are too few samples
}

// exportQuery are the parameters of an export.
func exportQuery(v *visit.Visit) url.Values { return query(v, "format", "env", "from", "to", "prefix") }

// showExports is GET /console/ledger/exports, the page with the form of an export. After a format was chosen, the page also
// contains a link to the file, and an estimate of the file's length.
func showExports(v *visit.Visit) error {
	q := exportQuery(v)
	p := exportsPage{Filters: filtersOf(exportsPath, q)}
	chosen := q.Get("format")
	for i, name := range export.Names() {
		p.Formats = append(p.Formats, formatChoice{name, textsIn(v.T.Lang).Exports.Formats[name], chosen == name || chosen == "" && i == 0})
	}
	problem := ""
	if chosen != "" {
		answer := v.Call(web.InternalRequest{Method: fiber.MethodHead, Path: apiExport, Query: q})
		switch {
		case answer.IsOK():
			p.Download = address(exportsPath+"/download", q)
			if bytes, err := strconv.ParseInt(answer.Header("X-Estimated-Bytes"), 10, 64); err == nil {
				p.Size = sizeText(v, bytes)
			}
		case answer.Status == fiber.StatusUnprocessableEntity:
			problem, _ = refusedFields(answer.Refusal())
		default:
			return answer.Refusal()
		}
	}
	return v.Show(templates, "exports", visit.PageContent{Status: status(problem), Title: v.T.Menu["exports"], Problem: problem, Page: &p})
}

// sizeText writes a number of bytes in kilobytes, megabytes or gigabytes.
func sizeText(v *visit.Visit, bytes int64) string {
	t := textsIn(v.T.Lang).Exports
	text := t.Kilobytes
	for _, larger := range []string{t.Megabytes, t.Gigabytes} {
		if bytes < 10_000_000 {
			break
		}
		bytes, text = bytes/1000, larger
	}
	return v.T.Fill(text, "n", v.T.Number(int(bytes/1000)))
}

// download is GET /console/ledger/exports/download. It sends the exported file.
func download(v *visit.Visit) error {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: apiExport, Query: exportQuery(v)})
	if refused := answer.Refusal(); refused != nil {
		return refused
	}
	answer.SendTo(v.Request)
	return nil
}
