package page

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"mizan/api/checkout/texts"
	"mizan/api/web/design"
	"mizan/internal/assert"
)

//go:embed templates
var templates embed.FS

// style is the only inline style, and script the only inline script. They must not contain anything that html/template removes,
// such as comments, because then they would no longer match their hashes in the Content-Security-Policy.
var (
	style  = strings.TrimSpace(design.Tokens + readTemplateFile("style.css"))
	script = strings.TrimSpace(readTemplateFile("page.js"))
)

var pageTemplates = parseTemplates()

func readTemplateFile(name string) string {
	content, err := templates.ReadFile("templates/" + name)
	assert.NoError(err)
	return string(content)
}

// parseTemplates returns the template of each page. The key is the name of the template's file.
func parseTemplates() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Parse(readTemplateFile("layout.html")))
	parsedPages := make(map[string]*template.Template, len(allPages))
	for _, p := range allPages {
		pageTemplate := template.Must(layout.Clone())
		parsedPages[p.file()] = template.Must(pageTemplate.Parse(readTemplateFile(p.file() + ".html")))
	}
	return parsedPages
}

// Render returns the page as an HTML document in UTF-8. The document is the only place in memory where Render leaves copies of
// the values that the payer typed. lang is a language tag; if there are no texts in that language, the page is in English. An
// error means that a template has a bug.
func Render(lang string, p Page) ([]byte, error) {
	var out bytes.Buffer
	shop := shopOf(p)
	err := pageTemplates[p.file()].Execute(&out, view{
		T: texts.In(langOf(lang, p)), Style: template.CSS(style), Script: template.JS(script), Shop: shop, BrandStyle: template.CSS(shop.Brand.style()), Page: p,
	})
	if c, isCheckout := p.(Checkout); isCheckout && len(c.Typed) > 0 {
		return fillTyped(out.Bytes(), c.Typed), err
	}
	return out.Bytes(), err
}

// langOf returns the language of a page. A Challenge is in English, because only developers see it. All other pages are in
// lang.
func langOf(lang string, p Page) string {
	if _, isChallenge := p.(Challenge); isChallenge {
		return "en"
	}
	return lang
}

// shopOf returns what a page shows about the merchant. For a page without a merchant, it returns the zero value.
func shopOf(p Page) Shop {
	if presenting, ok := p.(interface{ Presented() Shop }); ok {
		return presenting.Presented()
	}
	return Shop{}
}
