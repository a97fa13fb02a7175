// Package localetest helps tests to check catalogs (the translated texts of one language). It checks that the texts
// are translated and in the right script, which a person would otherwise have to check.
//
// Callers: the tests of api/web/locale and of the packages with catalogs.
//
// Rejected: another design would make these checks in locale.Load. It was not chosen because the checks need lists of
// exceptions, which only the tests have.
package localetest
