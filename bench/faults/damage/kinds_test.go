package damage

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// kinds lists the kinds of files. pattern matches a file's path relative to the data directory; for a backup the path is
// "backups/" and its name.
var kinds = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"IDENTITY", regexp.MustCompile(`^IDENTITY$`)},
	{"LOCK", regexp.MustCompile(`^LOCK$`)},
	{"TABLES", regexp.MustCompile(`^TABLES$`)},
	{"clock", regexp.MustCompile(`^clock$`)},
	{"keyring", regexp.MustCompile(`^keyring$`)},
	{"log: confirmed", regexp.MustCompile(`^log/confirmed$`)},
	{"log: segment", regexp.MustCompile(`^log/segment-\d{16}$`)},
	{"log: spare", regexp.MustCompile(`^log/spare-\d{16}$`)},
	{"sandbox.json", regexp.MustCompile(`^sandbox\.json$`)},
	{"simulator.log", regexp.MustCompile(`^simulator\.log$`)},
	{"simulator.log.checkpoint", regexp.MustCompile(`^simulator\.log\.checkpoint$`)},
	{"store: table", regexp.MustCompile(`^store/\d{6}\.sst$`)},
	{"store: memtable", regexp.MustCompile(`^store/\d{5}\.mem$`)},
	{"store: value log", regexp.MustCompile(`^store/\d{6}\.vlog$`)},
	{"store: DISCARD", regexp.MustCompile(`^store/DISCARD$`)},
	{"store: KEYREGISTRY", regexp.MustCompile(`^store/KEYREGISTRY$`)},
	{"store: LOCK", regexp.MustCompile(`^store/LOCK$`)},
	{"store: MANIFEST", regexp.MustCompile(`^store/MANIFEST$`)},
	{"store: values", regexp.MustCompile(`^store/values/\d{6}\.values$`)},
	{"tls: certificate", regexp.MustCompile(`^tls/(ca|cert)\.pem$`)},
	{"tls: key", regexp.MustCompile(`^tls/(ca|cert)\.key$`)},
	{"backup", regexp.MustCompile(`^backups/mizan-.*\.backup$`)},
}

// kindOf returns the kind of a file; empty if it has none.
func kindOf(name string) string {
	for _, k := range kinds {
		if k.pattern.MatchString(name) {
			return k.name
		}
	}
	return ""
}

// kindsOf returns the files of each kind, and fails the test for a file without a kind.
func kindsOf(t *testing.T, names []string) map[string][]string {
	t.Helper()
	byKind := make(map[string][]string)
	for _, name := range names {
		kind := kindOf(name)
		if kind == "" {
			t.Errorf("the file %s has no kind: add one to the table, so that the campaigns damage such files too", name)
			continue
		}
		byKind[kind] = append(byKind[kind], name)
	}
	return byKind
}

func TestUnknownFilesHaveNoKind(t *testing.T) {
	for _, name := range []string{"", "log/other", "store/000001.new", "keyring.old", "store/values/1.values", "backups/other"} {
		if kind := kindOf(name); kind != "" {
			t.Errorf("%s is of kind %s", name, kind)
		}
	}
	if kind := kindOf(path.Join("log", "segment-"+strings.Repeat("0", 16))); kind != "log: segment" {
		t.Errorf("a segment is of kind %q", kind)
	}
}
