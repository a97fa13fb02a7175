package checkout

import "mizan/api/web"

// isFromAnotherSite tells whether the form was sent by a page of another origin. Such a form is refused: it would begin a
// payment, or act in one, without the knowledge of the person who visits the other site. The origin null is accepted, because
// browsers send it for the payers' pages, whose referrer policy is no-referrer.
func (h *Handlers) isFromAnotherSite(req *web.Request) bool {
	return req.IsFromAnotherSite(h.cfg.Pages.Base, true)
}
