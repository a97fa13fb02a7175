package view

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"

	"mizan/api/web/design"
	"mizan/internal/assert"
)

// AssetRoot is the path below which the console serves style sheets, scripts and icons.
const AssetRoot = Root + "assets/"

//go:embed assets
var assetFiles embed.FS

// Asset is a file that browsers load and cache, such as a style sheet.
type Asset struct {
	Content, Compressed []byte // compressed by gzip
	ContentType         string
}

// AssetPaths are the addresses of the files that every page loads.
type AssetPaths struct{ Style, Script, HTMX, Icon string }

// assets maps the names of files in addresses to the files. A name includes a hash of the file's content.
var assets = make(map[string]*Asset)

var assetPaths = &AssetPaths{
	Style:  addAsset("console.css", append([]byte(design.Tokens), readAsset("console.css")...)),
	Script: addAsset("console.js", readAsset("console.js")),
	HTMX:   addAsset("htmx.js", readAsset("htmx.min.js")),
	Icon:   addAsset("icon.svg", readAsset("icon.svg")),
}

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func readAsset(name string) []byte {
	content, err := assetFiles.ReadFile("assets/" + name)
	assert.NoError(err)
	return content
}

// AddAsset adds a file of an area and returns its address. AddAsset may be called only while the program starts. The file's
// content type is chosen by the extension of the name.
func AddAsset(name string, content []byte) string { return addAsset(name, content) }

func addAsset(name string, content []byte) (address string) {
	extension := path.Ext(name)
	assert.That(contentTypes[extension] != "", "view: %s has no content type", name)
	sum := sha256.Sum256(content)
	hashed := strings.TrimSuffix(name, extension) + "-" + hex.EncodeToString(sum[:8]) + extension
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	assert.NoError(err)
	_, err = w.Write(content)
	assert.NoError(err)
	assert.NoError(w.Close())
	assets[hashed] = &Asset{Content: content, Compressed: compressed.Bytes(), ContentType: contentTypes[extension]}
	return AssetRoot + hashed
}

// AssetNamed returns the file with the address AssetRoot + name.
func AssetNamed(name string) (*Asset, bool) {
	a, found := assets[name]
	return a, found
}
