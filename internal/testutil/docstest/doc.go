// Package docstest checks the documentation: that links lead to existing files and headings, that
// the README is short, and that the pages of docs/reference agree with the code.
//
// If a reference page is about one package, a test of that package generates the page, with
// helpers of docstest. The command "make generate" writes all pages.
package docstest
