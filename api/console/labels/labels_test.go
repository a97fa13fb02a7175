package labels_test

import (
	"slices"
	"strings"
	"testing"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/console/texts"
	"mizan/api/description/operations"
	"mizan/api/description/spec"

	_ "mizan/actors/provider/sepa"
	_ "mizan/actors/provider/simulator" // registers the provider, whose parameters are among the fields
	_ "mizan/actors/provider/stripe"
	_ "mizan/actors/provider/utp"
)

// shown returns the operations whose fields the console shows. It leaves out payers' pages, checks, and operations whose console
// pages have texts of their own.
func shown(contents spec.Contents) (list []spec.Operation) {
	other := make(map[string]bool)
	for _, tag := range contents.Tags {
		other[tag.Name] = tag.Name == "Payers' pages" || tag.Name == "Checks and description"
	}
	for _, o := range contents.Operations {
		isOwn := o.Tag == "Cluster" || strings.HasSuffix(o.ID, "Actions") || strings.HasSuffix(o.Path, "/stats") || o.ID == "listRegions" || o.ID == "listReviews" // pages with texts of their own
		if !other[o.Tag] && !isOwn {
			list = append(list, o)
		}
	}
	return list
}

func TestEveryFieldAndWordHasALabel(t *testing.T) {
	contents := operations.Contents()
	contents.Operations = shown(contents)
	if len(contents.Operations) < 90 {
		t.Fatalf("only %d operations", len(contents.Operations))
	}
	found := apispec.New(contents)
	for _, lang := range texts.Languages() {
		c := checker{t: t, texts: labels.In(lang), missing: make(map[string]bool)}
		for _, o := range found.Operations() {
			for _, fields := range [][]apispec.Field{o.Filters, o.Body, o.ResponseFields} {
				c.check("", fields)
			}
		}
		c.report()
	}
}

// checker collects the fields and words that have no label in a language.
type checker struct {
	t       *testing.T
	texts   *labels.Texts
	missing map[string]bool
}

func (c *checker) check(path string, fields []apispec.Field) {
	for i := range fields {
		c.checkField(strings.TrimPrefix(path+"."+fields[i].Name, "."), &fields[i])
	}
}

func (c *checker) checkField(path string, f *apispec.Field) {
	if !c.texts.HasField(path) {
		c.missing[path] = true
	}
	for _, word := range f.Words {
		if isText(word) && !c.texts.HasWord(path, word) {
			c.missing[path+"."+word] = true
		}
	}
	c.check(path, f.Fields)
	if f.Entry != nil {
		entry := *f.Entry
		c.checkField(path, &entry)
	}
}

// isText tells whether a word needs a translation, unlike a code such as USD or 1.0.
func isText(word string) bool { return strings.ToUpper(word) != word }

func (c *checker) report() {
	var names []string
	for name := range c.missing {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		c.t.Errorf("%s: no label for %s", c.texts.Lang, strings.Join(names, ", "))
	}
}

func TestLabelOfALongerPathCounts(t *testing.T) {
	en := labels.In("en")
	for path, want := range map[string]string{
		"id": "Id", "partners.id": "Number", "limits.partners.id": "Number", "branding.color": "Button colour", "overdraft_limit.0.amount": "Amount", "overdraft_limit.12.id": "Id",
		"something_new": "Something new",
	} {
		if got := en.Field(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for _, c := range [][3]string{{"type", "bank", "Bank"}, {"limits.kind", "card", "Card"}, {"x", "not_known", "Not known"}, {"status", "ok", "In order"}} {
		if got := en.Word(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestHelpIsTheCatalogsOrOfAnUnknownField(t *testing.T) {
	ru := labels.In("ru")
	for _, c := range [][3]string{{"limits.max_amount", "minor units", "Для всех видов, кроме частоты попыток."}, {"amount", "minor units", ""}, {"brand_new", "a `thing`", "A thing."}, {"brand_new", "", ""}} {
		if got := ru.Help(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q, want %q", c[0], got, c[2])
		}
	}
}

func TestLanguageThatTheConsoleLacksIsEnglish(t *testing.T) {
	if got := labels.In("de").Lang; got != "en" {
		t.Errorf("de is %s", got)
	}
	if got := labels.In("ar").Field("amount"); got != "المبلغ" {
		t.Error(got)
	}
}

// A page of records has one name, in the menu and as its title.
func TestMenuAndTitlesHaveTheSameNames(t *testing.T) {
	for _, lang := range texts.Languages() {
		own, shared := labels.In(lang), 0
		for key, text := range own.Menu {
			title, isRecords := own.Records[key]
			if !isRecords {
				continue
			}
			if shared++; text != title {
				t.Errorf("%s: the menu has %q, and the page has the title %q", lang, text, title)
			}
		}
		if shared < 15 {
			t.Errorf("%s: only %d entries of the menu are records", lang, shared)
		}
	}
}
