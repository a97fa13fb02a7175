package page

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// styleHash and scriptHash are the hashes of style and script, in the form in which a Content-Security-Policy contains hashes
// (CSP 3, "hash-source").
var styleHash, scriptHash = hashOf(style), hashOf(script)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy returns the Content-Security-Policy of a page. It allows only the script and the style of this package and, on the page
// Elements alone, what Stripe's script needs. The page's
// forms may be posted only to the service and, for a ProviderForm, to the provider. Only a Challenge may be shown in a frame,
// which may belong to any site. The simulator's forms may be posted to any URL, because browsers also apply the policy to
// redirects that follow a form, and these redirects lead to merchants' sites.
func Policy(p Page) string {
	directives := []string{"default-src 'none'", "base-uri 'none'"}
	if _, isElements := p.(Elements); isElements {
		for _, name := range slices.Sorted(maps.Keys(elementsPolicy)) {
			directives = append(directives, name+" "+elementsPolicy[name])
		}
	} else {
		directives = append(directives, "require-trusted-types-for 'script'", "script-src "+scriptHash)
	}
	directives = append(directives, "style-src "+styleHash)
	brand := shopOf(p).Brand
	if own := brand.style(); own != "" {
		directives[len(directives)-1] += " " + hashOf(own)
	}
	mayLoad, mayPost, mayPoll := brand.Logo != "", "'self'", false
	switch p := p.(type) {
	case Offer:
		mayLoad = true
	case Checkout:
		mayLoad = mayLoad || len(p.Items) > 0
	case Elements:
		mayLoad = false // elementsPolicy has the directive
	case ProviderForm:
		if origin := originOf(p.Target); origin != "" {
			mayPost += " " + origin
		}
	case Processing:
		mayPoll = true
	case Scan:
		mayPoll = true
		if p.Simulated != nil {
			mayPost = anyAddress
		}
	case Challenge:
		mayPost = anyAddress
	}
	directives = append(directives, "form-action "+mayPost)
	if mayLoad {
		directives = append(directives, "img-src 'self'")
	}
	if mayPoll {
		directives = append(directives, "connect-src 'self'")
	}
	if !MayBeFramed(p) {
		directives = append(directives, "frame-ancestors 'none'")
	}
	return strings.Join(directives, "; ")
}

// MayBeFramed tells whether other sites may show the page in a frame.
func MayBeFramed(p Page) bool {
	_, isChallenge := p.(Challenge)
	return isChallenge
}

// anyAddress is a source list that allows every web address.
const anyAddress = "'self' https: http:"
