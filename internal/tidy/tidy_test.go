package tidy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProjectKeepsTheRules checks the project itself.
func TestProjectKeepsTheRules(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	if report.Packages < 10 {
		t.Errorf("only %d packages found below the root: is that the module?", report.Packages)
	}
	for _, b := range report.Breaches {
		t.Error(b)
	}
	for _, remark := range report.Remarks {
		t.Log("long:", remark)
	}
}

// soundModule is a small module without a breach.
var soundModule = map[string]string{
	".gitignore":            "/bin/\n*.prof\n",
	"go.mod":                "module mizan\n",
	"README.md":             "Run it.\n",
	"cpu.prof":              "",
	"bin/broken.go":         "not go at all",
	"ledger/doc.go":         "// Package ledger is pure.\npackage ledger\n",
	"ledger/ledger.go":      "package ledger\n\nimport (\n\t\"time\"\n\n\t\"github.com/google/uuid\"\n\n\t\"mizan/ledger/money\"\n)\n\nvar _ = time.Time{}\nvar _ = uuid.Nil\nvar _ = money.Zero\n",
	"ledger/ledger_test.go": "package ledger\n\nimport \"os\"\n\nvar _ = os.Args\n",
	"ledger/testdata/x.go":  "broken",
	"ledger/money/doc.go":   "// Package money is pure.\npackage money\n",
	"ledger/money/money.go": "package money\n\nvar Zero = 0\n",
	"posting/doc.go":        "// Package posting books.\npackage posting\n\nimport _ \"mizan/posting/store\"\n",
	"posting/store/doc.go":  "// Package store keeps.\npackage store\n\nimport _ \"github.com/dgraph-io/badger/v4\"\n",
	"actors/doc.go":         "// Package actors runs.\npackage actors\n\nimport _ \"github.com/asynkron/protoactor-go/actor\"\n",
	"actors/payment/doc.go": "// Package payment pays.\npackage payment\n\nimport _ \"mizan/actors\"\n",
	"actors/account/doc.go": "// Package account admits.\npackage account\n",
	"api/doc.go":            "// Package api serves.\npackage api\n\nimport (\n\t_ \"github.com/gofiber/fiber/v2\"\n\t_ \"mizan/actors/payment\"\n\t_ \"mizan/api/auth\"\n)\n",
	"api/auth/doc.go":       "// Package auth lets in.\npackage auth\n",
	"cmd/mizan/doc.go":      "// Command mizan starts.\npackage main\n",
	"cmd/mizan/main.go":     "package main\n\nimport _ \"mizan/api\"\n\nfunc main() {}\n",
	"tools/go.mod":          "module mizan/tools\n",
	"tools/tools.go":        "package anything\n",
	"api/sdk/go/go.mod":     "module mizan/api/sdk/go\n",
	"api/sdk/go/doc.go":     "// Package mizan is a client.\npackage mizan\n",

	"docs/examples/shop/go.mod": "module shop\n",
	"docs/examples/shop/doc.go": "// Command shop sells.\npackage main\n\nimport _ \"mizan/api/sdk/go\"\n",

	"docs/dependencies.md":   "`github.com/google/uuid` `github.com/gofiber/fiber/v2` `github.com/asynkron/protoactor-go` `github.com/dgraph-io/badger/v4` `github.com/vmihailenco/msgpack/v5` `github.com/tink-crypto/tink-go/v2`\n",
	"docs/guide.md":          "Open the home/page of a/work/day.\n",
	"internal/assert/doc.go": "// Package assert stops.\npackage assert\n",
}

// checkModule writes the files into a new folder and checks this folder as a module.
func checkModule(t *testing.T, files map[string]string) *Report {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		fullPath := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(fullPath), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fullPath, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestSoundLayoutHasNoBreach(t *testing.T) {
	report := checkModule(t, soundModule)
	for _, b := range report.Breaches {
		t.Error(b)
	}
	if len(report.Remarks) != 0 {
		t.Errorf("remarks: %v", report.Remarks)
	}
}

func TestEachBreachIsFound(t *testing.T) {
	slash, sleep := "/", "Sleep" // variables keep these texts apart, so that this file breaks no rule itself
	tests := []struct{ name, path, content, want string }{
		{"upward", "ledger/up.go", "package ledger\n\nimport _ \"mizan/posting\"\n", "ledger/up.go:3: imports: ledger may not import posting"},
		{"two layers up", "posting/store/up.go", "package store\n\nimport _ \"mizan/actors\"\n", "imports: posting/store may not import actors"},
		{"money imports ledger", "ledger/money/up.go", "package money\n\nimport _ \"mizan/ledger\"\n", "imports: ledger/money may not import ledger"},
		{"sibling actors", "actors/payment/side.go", "package payment\n\nimport _ \"mizan/actors/account\"\n", "imports: actors/payment may not import actors/account"},
		{"siblings in api", "api/auth/side.go", "package auth\n\nimport _ \"mizan/api/web\"\n", "imports: api/auth may not import api/web"},
		{"siblings among route families", "api/payments/doc.go", "// Package payments pays.\npackage payments\n\nimport _ \"mizan/api/admin\"\n", "imports: api/payments may not import api/admin"},
		{"api imports the store", "api/around.go", "package api\n\nimport _ \"mizan/posting/store\"\n", "imports: api may not import posting/store"},
		{"actors import the store", "actors/around.go", "package actors\n\nimport _ \"mizan/posting/store\"\n", "imports: actors may not import posting/store"},
		{"testkit in the product", "cmd/mizan/kit.go", "package main\n\nimport _ \"mizan/internal/testkit\"\n", "imports: cmd/mizan may not import internal/testkit"},
		{"no layer", "internal/extras/doc.go", "// Package extras is more.\npackage extras\n", "layers: package \"internal/extras\" belongs to no layer"},
		{"fiber outside api", "cmd/mizan/web.go", "package main\n\nimport _ \"github.com/gofiber/fiber/v2\"\n", "allowed importers: github.com/gofiber/fiber/v2 is for api/... only"},
		{"protoactor below actors", "actors/payment/act.go", "package payment\n\nimport _ \"github.com/asynkron/protoactor-go/actor\"\n", "allowed importers: github.com/asynkron/protoactor-go/actor is for actors only"},
		{"badger in posting's test", "posting/x_test.go", "package posting\n\nimport _ \"github.com/dgraph-io/badger/v4\"\n", "allowed importers: github.com/dgraph-io/badger/v4 is for posting/store"},
		{"tink outside internal/secret", "cmd/mizan/seal.go", "package main\n\nimport _ \"github.com/tink-crypto/tink-go/v2/aead\"\n", "allowed importers: github.com/tink-crypto/tink-go/v2/aead is for internal/secret only"},
		{"foreign module in ledger", "ledger/dep.go", "package ledger\n\nimport _ \"github.com/vmihailenco/msgpack/v5\"\n", "purity: ledger may not import github.com/vmihailenco/msgpack/v5"},
		{"os in ledger", "ledger/dep.go", "package ledger\n\nimport _ \"os\"\n", "purity: ledger may not import os"},
		{"log in ledger", "ledger/money/dep.go", "package money\n\nimport _ \"log\"\n", "purity: ledger may not import log"},
		{"slog that logs in ledger", "ledger/money/dep.go", "package money\n\nimport \"log/slog\"\n\nfunc f() { slog.Info(\"x\") }\n", "purity: ledger may not use slog.Info"},
		{"rand in ledger", "ledger/dep.go", "package ledger\n\nimport _ \"math/rand/v2\"\n", "purity: ledger may not import math/rand/v2"},
		{"clock in ledger", "ledger/dep.go", "package ledger\n\nimport \"time\"\n\nvar at = time.Now()\n", "ledger/dep.go:5: purity: ledger may not use time.Now"},
		{"clock under another name", "ledger/dep.go", "package ledger\n\nimport t \"time\"\n\nvar at = t.Since\n", "purity: ledger may not use t.Since"},
		{"dot import", "ledger/dep.go", "package ledger\n\nimport . \"time\"\n\nvar at = Now()\n", "purity: time imported with a dot"},
		{"random id in ledger", "ledger/dep.go", "package ledger\n\nimport \"github.com/google/uuid\"\n\nvar id = uuid.New()\n", "purity: ledger may not use uuid.New"},
		{"goroutine in ledger", "ledger/dep.go", "package ledger\n\nfunc f() {\n\tgo f()\n}\n", "ledger/dep.go:4: purity: ledger starts no goroutine"},
		{"no doc.go", "api/checkout/page/page.go", "// Package page shows.\npackage page\n", "api/checkout/page: doc.go: the package has no doc.go"},
		{"doc.go without a comment", "api/checkout/page/doc.go", "package page\n", "api/checkout/page: doc.go: the package has no doc.go"},
		{"unexplained module", "api/dep.go", "package api\n\nimport _ \"golang.org/x/time/rate\"\n", "docs/dependencies.md: dependencies: no line for golang.org/x/time/rate"},
		{"sleeping test", "api/x_test.go", "package api\n\nimport \"time\"\n\nfunc f() { time." + sleep + "(1) }\n", "api/x_test.go:5: sleeps:"},
		{"top level", "notes.txt", "x", "notes.txt: top level: does not belong there"},
		{"machine path in Go", "api/p.go", "package api\n\nvar p = \"" + slash + "tmp/x/y\"\n", "api/p.go:3: machine paths:"},
		{"machine path in prose", "docs/p.md", "See " + slash + "home/me/notes.\n", "docs/p.md:1: machine paths:"},
		{"a client that imports the service", "api/sdk/go/up.go", "package mizan\n\nimport _ \"mizan/ledger/money\"\n", "imports: api/sdk/go may not import ledger/money"},
		{"an example that imports the service", "docs/examples/shop/up.go", "package main\n\nimport _ \"mizan/api\"\n", "imports: docs/examples/shop may not import api"},
		{"long main", "cmd/mizan/main.go", "package main\n\nfunc main() {\n" + strings.Repeat("\t_ = 0\n", 40) + "}\n", "cmd/mizan/main.go: main: 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(soundModule)
			files[tt.path] = tt.content
			report := checkModule(t, files)
			if len(report.Breaches) != 1 || !strings.Contains(report.Breaches[0].String(), tt.want) {
				t.Errorf("breaches %v, want one with %q", report.Breaches, tt.want)
			}
		})
	}
}

func TestPackageOfTooManyFilesIsFound(t *testing.T) {
	files := maps.Clone(soundModule)
	for i := range maxPackageFiles - 1 { // doc.go is one more file
		files[fmt.Sprintf("api/auth/f%d.go", i)] = "package auth\n"
		files[fmt.Sprintf("api/auth/f%d_test.go", i)] = "package auth\n"
	}
	if report := checkModule(t, files); len(report.Breaches) != 0 {
		t.Errorf("breaches %v at the bound, want none", report.Breaches)
	}
	files["api/auth/more.go"] = "package auth\n"
	want := "api/auth: package size: 26 files, at most 25"
	if report := checkModule(t, files); len(report.Breaches) != 1 || report.Breaches[0].String() != want {
		t.Errorf("breaches %v, want %q", report.Breaches, want)
	}
}

func TestSizesAreRemarkedNotRefused(t *testing.T) {
	files := maps.Clone(soundModule)
	files["api/long.go"] = "package api\n\nfunc long() {\n" + strings.Repeat("\t_ = 0\n", 500) + "}\n"
	report := checkModule(t, files)
	if len(report.Breaches) != 0 {
		t.Errorf("breaches %v, want none", report.Breaches)
	}
	if len(report.Remarks) != 2 || !strings.Contains(report.Remarks[0], "api/long.go: 50") || !strings.Contains(report.Remarks[1], "long has 502 lines") {
		t.Errorf("remarks %q, want the file and the function", report.Remarks)
	}
}

func TestBrokenGoFileIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x.go"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(root); err == nil {
		t.Error("a file that does not parse went unnoticed")
	}
}
