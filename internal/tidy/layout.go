package tidy

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxText bounds the size of the files that are searched for machine paths.
const maxText = 1 << 20

// machinePath matches an absolute path into somebody's home, work or temporary directory. It is
// assembled from parts so that it does not match itself.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.\-/~}*])/(` + strings.Join([]string{"work", "farm", "root", "home", "tmp", "Users"}, "|") + `)/[A-Za-z0-9_.]+`)

// machinePaths checks the text of one file of any kind.
func (r *Report) machinePaths(root, name string) error {
	if path.Base(name) == "go.sum" {
		return nil
	}
	fullPath := filepath.Join(root, filepath.FromSlash(name))
	if stat, err := os.Stat(fullPath); err != nil || stat.Size() > maxText {
		return err
	}
	content, err := os.ReadFile(fullPath)
	if err != nil {
		return err
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil
	}
	for i, line := range bytes.Split(content, []byte("\n")) {
		if found := machinePath.Find(line); found != nil {
			r.breach("machine paths", fmt.Sprintf("%s:%d", name, i+1), "%q is a place on one machine", bytes.TrimSpace(found))
		}
	}
	return nil
}

// packagesDocumented checks that every package has a doc.go with a package comment.
func (r *Report) packagesDocumented(files []*file) {
	docs := make(map[string]bool) // folder → has a package comment
	for _, f := range files {
		if !f.test {
			docs[f.folder] = docs[f.folder] || (path.Base(f.path) == "doc.go" && f.syntax.Doc != nil)
		}
	}
	r.Packages = len(docs)
	for folder, documented := range docs {
		if !documented {
			r.breach("doc.go", folder, "the package has no doc.go with a package comment")
		}
	}
}

// packageSizes checks that no package has more than maxFiles files.
func (r *Report) packageSizes(files []*file) {
	count := make(map[string]int) // folder → number of files, without tests
	for _, f := range files {
		if !f.test {
			count[f.folder]++
		}
	}
	for folder, n := range count {
		if n > maxFiles {
			r.breach("package size", folder, "%d files, at most %d", n, maxFiles)
		}
	}
}

// dependencies is the file that gives the reason for every imported module.
const dependencies = "docs/dependencies.md"

// dependenciesExplained checks that every imported module has its line. The line has the module's path in
// backquotes, and covers the packages below it.
func (r *Report) dependenciesExplained(root string, files []*file) error {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dependencies)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unexplained := make(map[string]bool)
	for _, f := range files {
		for _, spec := range f.syntax.Imports {
			if imported := strings.Trim(spec.Path.Value, "`\""); foreign(imported) && !explains(string(content), imported) {
				unexplained[imported] = true
			}
		}
	}
	for imported := range unexplained {
		r.breach("dependencies", dependencies, "no line for %s", imported)
	}
	return nil
}

// foreign tells whether an import is neither in the standard library nor in this module.
func foreign(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

func explains(list, imported string) bool {
	for module := imported; module != "."; module = path.Dir(module) {
		if strings.Contains(list, "`"+module+"`") {
			return true
		}
	}
	return false
}

// sizes remarks on long files and functions. Only a long main.go is a breach.
func (r *Report) sizes(set *token.FileSet, f *file) {
	if matches("cmd/*/main.go", f.path) && f.lines > longMain {
		r.breach("main", f.path, "%d lines, at most %d", f.lines, longMain)
	}
	if f.lines > longFile {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %d lines", f.path, f.lines))
	}
	if f.test {
		return
	}
	for _, d := range f.syntax.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := set.Position(function.End()).Line - set.Position(function.Pos()).Line + 1
		if lines > longFunction {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %s has %d lines", f.at(set, function.Pos()), function.Name.Name, lines))
		}
	}
}

// rootNames checks that the top level has only the listed names.
func (r *Report) rootNames(root string) error {
	ignored, err := ignoredNames(root)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(topLevel, name) && !matchesName(ignored, name) {
			r.breach("top level", name, "does not belong there")
		}
	}
	return nil
}

// ignoredNames returns the plain patterns in the root's .gitignore.
func ignoredNames(root string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(content)) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, strings.TrimSuffix(name, "/"))
		}
	}
	return names, nil
}

// matchesName tells whether git would ignore the path, for the kinds of patterns used here:
// "/name" at the root, "name" and "*.suffix" anywhere.
func matchesName(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if anchored, ok := strings.CutPrefix(pattern, "/"); ok {
			return anchored == name
		}
		ok, err := path.Match(pattern, path.Base(name))
		return ok && err == nil
	})
}
