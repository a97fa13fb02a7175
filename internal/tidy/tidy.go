package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Breach is a place in the code where a rule is broken.
type Breach struct {
	Rule   string // name of the rule, for example "imports"
	Place  string // slash-separated path, relative to the root, with a line number if there is one
	Detail string
}

// String describes the breach in one line.
func (b Breach) String() string { return fmt.Sprintf("%s: %s: %s", b.Place, b.Rule, b.Detail) }

// Report is the result of Check.
type Report struct {
	Breaches []Breach
	Remarks  []string // files that are longer than longFileLines, and functions that are longer than longFunctionLines
	Packages int
}

// file is a parsed Go file.
type file struct {
	path   string // slash-separated path, relative to the root
	folder string // folder of the file's package, relative to the root; empty for the root
	isTest bool
	syntax *ast.File
	lines  int
}

// Check reads the tree below root, which must be the module's folder, and reports breaches of the rules. If the tree cannot be
// read, Check returns an error.
func Check(root string) (*Report, error) {
	r := &Report{}
	fileSet := token.NewFileSet()
	var files []*file
	err := walkFiles(root, func(path string, entry fs.DirEntry) error {
		if err := errors.Join(r.checkMachinePaths(root, path), r.checkWords(root, path)); err != nil {
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parseFile(fileSet, root, path)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		r.checkImports(fileSet, f)
		r.checkPurity(fileSet, f)
		r.checkSleeps(fileSet, f)
		r.checkSizes(fileSet, f)
	}
	r.checkPackageDocs(files)
	r.checkPackageSizes(files)
	if err := r.checkDependencies(root, files); err != nil {
		return nil, err
	}
	return r, r.checkTopLevel(root)
}

// walkFiles visits the files of the module and of the modules in nestedModules. It skips .git, files that git ignores, folders
// testdata, and other modules inside this module.
func walkFiles(root string, visit func(path string, entry fs.DirEntry) error) error {
	ignored, err := ignoredPatterns(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(fullPath string, entry fs.DirEntry, err error) error {
		if err != nil || fullPath == root {
			return err
		}
		rel, err := filepath.Rel(root, fullPath)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(rel)
		if path == ".git" { // .git is a folder; in a linked worktree it is a file
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			if entry.Name() == "testdata" || isIgnored(ignored, path) || isModule(fullPath) && !slices.Contains(nestedModules, path) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || isIgnored(ignored, path) {
			return nil
		}
		return visit(path, entry)
	})
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func parseFile(fileSet *token.FileSet, root, path string) (*file, error) {
	syntax, err := parser.ParseFile(fileSet, filepath.Join(root, filepath.FromSlash(path)), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, syntax: syntax, isTest: strings.HasSuffix(path, "_test.go")}
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		f.folder = path[:i]
	}
	f.lines = fileSet.File(syntax.FileStart).LineCount()
	return f, nil
}

func (r *Report) addBreach(rule, place, format string, args ...any) {
	r.Breaches = append(r.Breaches, Breach{Rule: rule, Place: place, Detail: fmt.Sprintf(format, args...)})
}

// placeOf formats a position as path and line number, for Breach.Place.
func (f *file) placeOf(fileSet *token.FileSet, pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, fileSet.Position(pos).Line)
}

// matches tells whether a slash-separated path matches a pattern of rules.go.
func matches(pattern, path string) bool {
	segments, pathSegments := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, segment := range segments {
		if segment == "..." {
			return true
		}
		if i >= len(pathSegments) || (segment != "*" && segment != pathSegments[i]) {
			return false
		}
	}
	return len(segments) == len(pathSegments)
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}
