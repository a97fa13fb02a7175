package plants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Replacement is a change of one file. File is a path in the repository. If Module is set, it is the path of a file of this module,
// which the repository requires.
type Replacement struct{ Module, File, Old, New string }

// Names of the files that Flags writes.
const (
	overlayFile = "overlay.json"
	moduleFile  = "planted.mod"
	sumFile     = "planted.sum"
	copyDir     = "module"
)

// root returns the directory in which File is. repository is the root of the repository.
func (r *Replacement) root(repository string) (string, error) {
	if r.Module == "" {
		return filepath.Abs(repository)
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", r.Module)
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("plants: the module %s: %w", r.Module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// read returns the file's content and its directory.
func (r *Replacement) read(repository string) (content []byte, root string, err error) {
	if root, err = r.root(repository); err == nil {
		content, err = os.ReadFile(filepath.Join(root, r.File))
	}
	if err != nil {
		return nil, "", fmt.Errorf("plants: %w", err)
	}
	if n := bytes.Count(content, []byte(r.Old)); n != 1 {
		return nil, "", fmt.Errorf("plants: the text that is replaced occurs %d times in %s", n, r.File)
	}
	return content, root, nil
}

// Check returns an error unless the replaced text occurs exactly once.
func (r *Replacement) Check(repository string) error {
	_, _, err := r.read(repository)
	return err
}

// Flags writes what the Go command needs to build the repository with the change to a directory, and returns the flags that make it
// do so.
func (r *Replacement) Flags(repository, dir string) ([]string, error) {
	content, root, err := r.read(repository)
	if err != nil {
		return nil, err
	}
	content = bytes.Replace(content, []byte(r.Old), []byte(r.New), 1)
	if r.Module == "" {
		return overlay(filepath.Join(root, r.File), filepath.Join(dir, filepath.Base(r.File)), filepath.Join(dir, overlayFile), content)
	}
	return r.replaceModule(repository, root, dir, content)
}

// overlay makes the Go command read a changed file instead of the original one.
func overlay(original, changed, path string, content []byte) ([]string, error) {
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err == nil {
		err = errors.Join(os.WriteFile(changed, content, 0o600), os.WriteFile(path, list, 0o600))
	}
	if err != nil {
		return nil, fmt.Errorf("plants: %w", err)
	}
	return []string{"-overlay", path}, nil
}

// replaceModule makes the Go command use a changed copy of the module, because an overlay may not change the files of its cache.
func (r *Replacement) replaceModule(repository, root, dir string, content []byte) ([]string, error) {
	module, path := filepath.Join(dir, copyDir), filepath.Join(dir, moduleFile)
	err := os.CopyFS(module, os.DirFS(root))
	if err == nil {
		err = os.WriteFile(filepath.Join(module, r.File), content, 0o600)
	}
	for from, to := range map[string]string{"go.mod": moduleFile, "go.sum": sumFile} {
		if err == nil {
			content, err = os.ReadFile(filepath.Join(repository, from))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), content, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("plants: %w", err)
	}
	if out, err := exec.Command("go", "mod", "edit", "-replace", r.Module+"="+module, path).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("plants: %w: %s", err, out)
	}
	return []string{"-modfile", path}, nil
}
