package utp

// BoundReports sets the bound of pages of one poll for reports.
func (p *Provider) BoundReports(pages int) { p.reportPages = pages }
