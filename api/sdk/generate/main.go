package main

import (
	"fmt"
	"os"
	"path/filepath"

	"mizan/api"
	"mizan/api/description"
	"mizan/api/sdk/generate/golang"
	"mizan/api/sdk/generate/postman"
	"mizan/api/sdk/generate/typescript"
)

// generators has the function for each folder of api/sdk that returns the folder's generated files (name → content).
var generators = []struct {
	folder string
	files  func(*description.Document) (map[string][]byte, error)
}{
	{"go", golang.Files},
	{"postman", postman.Files},
	{"typescript", typescript.Files},
}

// root is the path of the folder with the clients, relative to the repository.
const root = "api/sdk"

func main() {
	if err := write(root); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write generates all files and writes them below a folder.
func write(folder string) error {
	files, err := generated()
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generated returns all generated files (path below root → content).
func generated() (map[string][]byte, error) {
	document := api.Describe("")
	all := make(map[string][]byte)
	for _, g := range generators {
		files, err := g.files(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.folder, err)
		}
		for name, content := range files {
			all[g.folder+"/"+name] = content
		}
	}
	return all, nil
}
