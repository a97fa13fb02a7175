package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	conformancePage   = "docs/conformance.md"
	conformanceFolder = "api/conformance" // the package of tests that the page names without a package
	clientRequirement = "client"          // written in place of tests if the requirement is for clients and not for the server
)

// conformanceHeader is the heading of every table of the page.
const conformanceHeader = "| # | requirement | tests |"

var (
	rowNumber     = regexp.MustCompile(`^\d+\.\d+$`)
	quotedText    = regexp.MustCompile("`([^`]*)`")
	testReference = regexp.MustCompile(`^(?:([a-z0-9/_]+)\.)?(Test\w+)(?:/(\S+))?$`)
)

// testNames maps the name of each test in a source tree, as "folder.Function", to the string literals in the test function.
// The names of its subtests are among these literals.
type testNames map[string]map[string]bool

// findTests finds the tests of the tree below root.
func findTests(root string) (testNames, error) {
	tests, fileSet := make(testNames), token.NewFileSet()
	err := walkFiles(root, func(name string, _ fs.DirEntry) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parseFile(fileSet, root, name)
		if err != nil {
			return err
		}
		for _, d := range f.syntax.Decls {
			if function, ok := d.(*ast.FuncDecl); ok && isTest(function) {
				tests[path.Dir(name)+"."+function.Name.Name] = stringLiterals(function)
			}
		}
		return nil
	})
	return tests, err
}

func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain"
}

// stringLiterals returns the string literals of a function, in the form in which the testing package
// uses them in names of subtests.
func stringLiterals(f *ast.FuncDecl) map[string]bool {
	texts := make(map[string]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				texts[strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
	return texts
}

// conformanceFaults lists the page's faults: rows without a test, tests that do not exist, repeated
// numbers, and tests of conformanceFolder that no row names.
func conformanceFaults(page string, tests testNames) (faults []string) {
	namedTests, numbers := make(map[string]bool), make(map[string]bool)
	rows := 0
	for i, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") || line == conformanceHeader || strings.HasPrefix(line, "|-") {
			continue
		}
		rows++
		place := fmt.Sprintf("%s:%d", conformancePage, i+1)
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if len(cells) != 3 {
			faults = append(faults, place+": a row has three cells")
			continue
		}
		number := strings.TrimSpace(cells[0])
		if !rowNumber.MatchString(number) || numbers[number] {
			faults = append(faults, place+": "+number+" is no number of its own")
		}
		numbers[number] = true
		faults = append(faults, rowFaults(place, strings.TrimSpace(cells[2]), tests, namedTests)...)
	}
	if rows == 0 {
		faults = append(faults, conformancePage+": there are no rows")
	}
	for name := range tests {
		if strings.HasPrefix(name, conformanceFolder+".") && !namedTests[name] {
			faults = append(faults, conformancePage+": no row names "+name)
		}
	}
	slices.Sort(faults)
	return faults
}

// rowFaults lists the faults in the third cell of a row, which names tests. It adds the tests that exist to namedTests.
func rowFaults(place, cell string, tests testNames, namedTests map[string]bool) (faults []string) {
	if cell == clientRequirement {
		return nil
	}
	references := quotedText.FindAllStringSubmatch(cell, -1)
	if otherText := strings.Trim(quotedText.ReplaceAllString(cell, ""), ", "); len(references) == 0 || otherText != "" {
		return []string{place + ": the row has no list of tests, and is not a " + clientRequirement + "'s"}
	}
	for _, m := range references {
		parts := testReference.FindStringSubmatch(m[1])
		if parts == nil {
			faults = append(faults, place+": "+m[1]+" is no test's name")
			continue
		}
		folder, function, subtest := parts[1], parts[2], parts[3]
		if folder == "" {
			folder = conformanceFolder
		}
		texts, exists := tests[folder+"."+function]
		if !exists || subtest != "" && !texts[subtest] {
			faults = append(faults, place+": there is no "+m[1])
			continue
		}
		namedTests[folder+"."+function] = true
	}
	return faults
}

// TestConformancePageNamesExistingTests checks this project's docs/conformance.md.
func TestConformancePageNamesExistingTests(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(conformancePage)))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := findTests(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range conformanceFaults(string(page), tests) {
		t.Error(fault)
	}
}

func TestFaultsOfTheConformancePageAreFound(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"api/conformance/a_test.go": "package conformance_test\n\nfunc TestMain() {}\nfunc TestOne() {}\nfunc TestTwo() { run(\"when full\") }\nfunc helper() {}\n",
		"ledger/b_test.go":          "package ledger\n\nfunc TestLedger() {}\n",
	} {
		fullPath := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(fullPath), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fullPath, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests, err := findTests(root)
	if err != nil {
		t.Fatal(err)
	}
	const soundPage = "# Page\n\n" + conformanceHeader + "\n|---|---|---|\n" +
		"| 1.1 | one | `TestOne`, `ledger.TestLedger` |\n| 1.2 | two | `TestTwo/when_full` |\n| 1.3 | theirs | client |\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"sound", "", "", ""},
		{"no row", soundPage, "", "there are no rows"},
		{"no test", "| client |", "| |", ":7: the row has no list of tests"},
		{"a word beside the tests", "`TestOne`,", "`TestOne` perhaps,", ":5: the row has no list of tests"},
		{"a test that is not there", "ledger.TestLedger", "ledger.TestLedgers", ":5: there is no ledger.TestLedgers"},
		{"a test of another package", "ledger.TestLedger", "posting.TestLedger", ":5: there is no posting.TestLedger"},
		{"a function that is no test", "`TestOne`", "`helper`", ":5: helper is no test's name"},
		{"a subtest that is not there", "when_full", "when_empty", ":6: there is no TestTwo/when_empty"},
		{"a test that is not named", "`TestTwo/when_full`", "client", "no row names api/conformance.TestTwo"},
		{"a number twice", "1.2", "1.1", ":6: 1.1 is no number of its own"},
		{"no number", "1.2", "two", ":6: two is no number of its own"},
		{"two cells", "| 1.3 | theirs | client |", "| 1.3 | client |", ":7: a row has three cells"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := strings.Replace(soundPage, c.old, c.new, 1)
			faults := strings.Join(conformanceFaults(page, tests), "\n")
			if c.want == "" && faults != "" || !strings.Contains(faults, c.want) {
				t.Errorf("found %q, want %q", faults, c.want)
			}
		})
	}
}
