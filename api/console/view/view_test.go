package view

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"mizan/api/console/texts"
	"mizan/ledger/directory"
)

// In the menu of a role no two pages have the same letter, and every entry has a text.
func TestMenuOfEachRole(t *testing.T) {
	always := func(string) bool { return true }
	for _, role := range directory.AllRoles {
		letters := make(map[string]string)
		for _, group := range MenuFor(directory.Roles{role}, true, always) {
			for _, item := range group.Items {
				if other := letters[item.Letter]; item.Letter != "" && other != "" {
					t.Errorf("%s: g %s opens %s and %s", role, item.Letter, other, item.Key)
				}
				letters[item.Letter] = item.Key
			}
		}
	}
	for _, all := range menu {
		for _, item := range all.Items {
			for _, lang := range texts.Languages() {
				if texts.In(lang).Menu[item.Key] == "" || all.Key != "" && texts.In(lang).Groups[all.Key] == "" {
					t.Errorf("%s: %s in %q has no text", lang, item.Key, all.Key)
				}
			}
		}
	}
}

// In the menu of a person with several roles each page occurs once, and each letter opens one page.
func TestMenuShowsWhatExistsAndIsAllowed(t *testing.T) {
	exists := func(path string) bool {
		return path == Root || path == Root+"links" || path == Root+"contracts" || path == Root+"admin/limits"
	}
	paths := func(roles directory.Roles, isBank bool) (all []string) {
		for _, group := range MenuFor(roles, isBank, exists) {
			for _, item := range group.Items {
				all = append(all, item.Path+" "+item.Letter)
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		roles  directory.Roles
		isBank bool
		want   string
	}{
		"partner":           {directory.Roles{directory.PartnerRole}, true, "/console/ h,/console/links l"},
		"client":            {directory.Roles{directory.Client}, true, "/console/ h,/console/contracts c"},
		"client of no bank": {directory.Roles{directory.Client}, false, "/console/ h"},
		"admin and partner": {directory.Roles{directory.Admin, directory.PartnerRole}, true, "/console/ h,/console/links l,/console/contracts c,/console/admin/limits "},
		"auditor":           {directory.Roles{directory.Auditor}, true, "/console/ h"},
	} {
		if got := strings.Join(paths(c.roles, c.isBank), ","); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A browser keeps a file forever, so the file's address must change with its content.
func TestAddressesOfFilesChangeWithTheirContent(t *testing.T) {
	one, other := AddAsset("test.js", []byte("1")), AddAsset("test.js", []byte("2"))
	t.Cleanup(func() {
		delete(assets, strings.TrimPrefix(one, AssetRoot))
		delete(assets, strings.TrimPrefix(other, AssetRoot))
	})
	if one == other || !strings.HasPrefix(one, AssetRoot+"test-") || !strings.HasSuffix(one, ".js") {
		t.Errorf("%s and %s", one, other)
	}
	for name, a := range assets {
		r, err := gzip.NewReader(bytes.NewReader(a.Compressed))
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, a.Content) || a.ContentType == "" {
			t.Errorf("%s: %v, type %q", name, err, a.ContentType)
		}
	}
}

// The files that a browser loads for its first page must be small when compressed. The page itself does not count.
func TestFirstViewIsSmall(t *testing.T) {
	const bound = 40_000 // bytes
	sum := 0
	for _, address := range []string{assetPaths.Style, assetPaths.Script, assetPaths.HTMX, assetPaths.Icon} {
		a, found := AssetNamed(strings.TrimPrefix(address, AssetRoot))
		if !found {
			t.Fatalf("there is no %s", address)
		}
		sum += len(a.Compressed)
	}
	if sum > bound {
		t.Errorf("the files have %d bytes, at most %d are allowed", sum, bound)
	}
}

// docs/dependencies.md says which release of htmx is served.
func TestHTMXIsTheDocumentedRelease(t *testing.T) {
	content := readAsset("htmx.min.js")
	sum := sha256.Sum256(content)
	docs, err := os.ReadFile("../../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`htmx ([0-9.]+) `).FindSubmatch(docs)
	if documented == nil || !bytes.Contains(content, append([]byte(`version="`), append(documented[1], '"')...)) {
		t.Errorf("docs/dependencies.md names the release %q, which the file is not", documented)
	}
	if !bytes.Contains(docs, []byte(hex.EncodeToString(sum[:]))) {
		t.Errorf("docs/dependencies.md does not have the hash %x", sum)
	}
}

// Left-to-right and right-to-left pages have the same style sheet, so no rule of the style sheet may name the left or the right
// side.
func TestStyleNamesNoSide(t *testing.T) {
	sides := regexp.MustCompile(`(?:[{;\s]|margin-|padding-|border-|inset-)(left|right|width|height|min-width|max-width|min-height|max-height|top|bottom)\s*:`)
	for _, line := range strings.Split(string(readAsset("console.css")), "\n") {
		if strings.HasPrefix(line, "@media") {
			continue
		}
		if found := sides.FindString(line); found != "" {
			t.Errorf("%q in %s", found, line)
		}
	}
}

func TestValuesAreWrittenInTheLanguage(t *testing.T) {
	frame := func(lang string) *Frame { return &Frame{T: texts.In(lang)} }
	plain := strings.NewReplacer("\u00a0", " ", "\u200f", "")
	for _, c := range []struct {
		name      string
		got, want template.HTML
	}{
		{"amount", frame("en").Money("123456", "USD", ""), `<bdi class="money">$1,234.56</bdi>`},
		{"amount in Russian", frame("ru").Money("-123456", "USD", ""), `<bdi class="money">−1 234,56 $</bdi>`},
		{"amount on a network", frame("en").Money("1", "USDT", "tron"), `<bdi class="money">USDT 0.000001 (tron)</bdi>`},
		{"amount that is none", frame("en").Money("<b>", "USD", ""), `<bdi class="money">&lt;b&gt;</bdi>`},
		{"digits", frame("en").Digits("-5", "KWD", ""), `<bdi class="money">−0.005</bdi>`},
		{"digits that are none", frame("en").Digits("", "KWD", ""), ``},
		{"instant", frame("en").Time("2026-08-05T14:07:09.123456+00:00"), `<time datetime="2026-08-05T14:07:09.123456+00:00">Aug 5, 2026, 14:07 UTC</time>`},
		{"instant of another zone", frame("en").Time("2026-08-05T02:00:00+03:00"), `<time datetime="2026-08-05T02:00:00+03:00">Aug 4, 2026, 23:00 UTC</time>`},
		{"day", frame("en").Day("2026-08-05"), `<time datetime="2026-08-05">Aug 5, 2026</time>`},
		{"instant that is none", frame("en").Time("soon<"), `soon&lt;`},
		{"no instant", frame("en").Time(""), ``},
		{"id", frame("en").ID(`a"b`), `<code class="id" translate="no" dir="ltr">a&#34;b</code>`},
		{"account", frame("en").Account("L:partner:<1>"), `<code class="path" translate="no">L:partner:&lt;1&gt;</code>`},
		{"no id", frame("en").ID(""), ``},
	} {
		if got := plain.Replace(string(c.got)); got != string(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
