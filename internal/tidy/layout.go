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

// maxTextBytes is the maximum size of checked files. The text of larger files is not checked.
const maxTextBytes = 1 << 20

// machinePath matches an absolute path into somebody's home, work or temporary directory. The expression is assembled from
// parts so that it does not match its own source text.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.\-/~}*])/(` + strings.Join([]string{"work", "farm", "root", "home", "tmp", "Users"}, "|") + `)/[A-Za-z0-9_.]+`)

// checkMachinePaths checks that a file contains no absolute path that exists only on somebody's machine. It checks text files
// of every kind.
func (r *Report) checkMachinePaths(root, name string) error {
	if path.Base(name) == "go.sum" {
		return nil
	}
	fullPath := filepath.Join(root, filepath.FromSlash(name))
	if stat, err := os.Stat(fullPath); err != nil || stat.Size() > maxTextBytes {
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
			r.addBreach("machine paths", fmt.Sprintf("%s:%d", name, i+1), "%q is a place on one machine", bytes.TrimSpace(found))
		}
	}
	return nil
}

// checkPackageDocs checks that every package has a doc.go with a package comment.
func (r *Report) checkPackageDocs(files []*file) {
	hasComment := make(map[string]bool) // keys are packages' folders
	for _, f := range files {
		if !f.isTest {
			hasComment[f.folder] = hasComment[f.folder] || (path.Base(f.path) == "doc.go" && f.syntax.Doc != nil)
		}
	}
	r.Packages = len(hasComment)
	for folder, isDocumented := range hasComment {
		if !isDocumented {
			r.addBreach("doc.go", folder, "the package has no doc.go with a package comment")
		}
	}
}

// checkPackageSizes checks that no package has more than maxPackageFiles files.
func (r *Report) checkPackageSizes(files []*file) {
	fileCounts := make(map[string]int) // keys are packages' folders; tests are not counted
	for _, f := range files {
		if !f.isTest {
			fileCounts[f.folder]++
		}
	}
	for folder, n := range fileCounts {
		if n > maxPackageFiles {
			r.addBreach("package size", folder, "%d files, at most %d", n, maxPackageFiles)
		}
	}
}

// dependenciesFile is a document that gives a reason for every imported module.
const dependenciesFile = "docs/dependencies.md"

// checkDependencies checks that every imported module has a line in dependenciesFile. The line has the module's path in
// backquotes. A line for a module also covers the packages in the module.
func (r *Report) checkDependencies(root string, files []*file) error {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dependenciesFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unexplained := make(map[string]bool)
	for _, f := range files {
		for _, spec := range f.syntax.Imports {
			if imported := strings.Trim(spec.Path.Value, "`\""); isForeign(imported) && !hasLineFor(string(content), imported) {
				unexplained[imported] = true
			}
		}
	}
	for imported := range unexplained {
		r.addBreach("dependencies", dependenciesFile, "no line for %s", imported)
	}
	return nil
}

// isForeign tells whether an import is neither in the standard library nor in this module.
func isForeign(imported string) bool {
	firstSegment, _, _ := strings.Cut(imported, "/")
	return strings.Contains(firstSegment, ".")
}

func hasLineFor(text, imported string) bool {
	for module := imported; module != "."; module = path.Dir(module) {
		if strings.Contains(text, "`"+module+"`") {
			return true
		}
	}
	return false
}

// checkSizes adds a remark for each file and function that is too long. Only a main.go that is too long is a breach.
func (r *Report) checkSizes(fileSet *token.FileSet, f *file) {
	if matches("cmd/*/main.go", f.path) && f.lines > maxMainLines {
		r.addBreach("main", f.path, "%d lines, at most %d", f.lines, maxMainLines)
	}
	if f.lines > longFileLines {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %d lines", f.path, f.lines))
	}
	if f.isTest {
		return
	}
	for _, d := range f.syntax.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := fileSet.Position(function.End()).Line - fileSet.Position(function.Pos()).Line + 1
		if lines > longFunctionLines {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %s has %d lines", f.placeOf(fileSet, function.Pos()), function.Name.Name, lines))
		}
	}
}

// checkTopLevel checks that every file and folder in the repository's top folder is listed in topLevel or ignored by git.
func (r *Report) checkTopLevel(root string) error {
	ignored, err := ignoredPatterns(root)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(topLevel, name) && !isIgnored(ignored, name) {
			r.addBreach("top level", name, "does not belong there")
		}
	}
	return nil
}

// ignoredPatterns returns the patterns in the .gitignore of root, each without a slash at its end.
func ignoredPatterns(root string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var patterns []string
	for line := range strings.Lines(string(content)) {
		if pattern := strings.TrimSpace(line); pattern != "" && !strings.HasPrefix(pattern, "#") {
			patterns = append(patterns, strings.TrimSuffix(pattern, "/"))
		}
	}
	return patterns, nil
}

// isIgnored tells whether git would ignore the path. It supports only the patterns that this project uses: "/name" in the top
// folder, and "name" and "*.suffix" in any folder.
func isIgnored(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if anchored, ok := strings.CutPrefix(pattern, "/"); ok {
			return anchored == name
		}
		ok, err := path.Match(pattern, path.Base(name))
		return ok && err == nil
	})
}
