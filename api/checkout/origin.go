package checkout

import "mizan/api/web"

// isFromAnotherSite tells whether a page of another origin has sent the form. Such a form is refused, because it would make the
// other site's visitor begin a payment, or act in one, without knowing it. The origin null is accepted: browsers send it for the
// payers' pages, because these have the referrer policy no-referrer.
func (h *Handlers) isFromAnotherSite(req *web.Request) bool {
	return req.IsFromAnotherSite(h.cfg.Pages.Base, true)
}
