// Package docs keeps what is written about the product true: the code in README.md and
// docs is the code of compiled, tested examples, the tests that docs/conformance.md names exist, links lead somewhere,
// docs/api lists what packages export and docs/licences.md what they depend on, and the packages import what the
// architecture says they import.
//
// A region of a Markdown file belongs to a function between two marks:
//
//	<!-- snippet: gormstore/example_test.go#ExampleStore_Transaction -->
//	```go
//	…
//	```
//	<!-- /snippet -->
//
// The region of an Example holds its body without the expected output; the region of any other
// function or method (Type.Method) holds the whole declaration with its comment. The test of this
// package fails when they differ; to write the regions anew:
//
//	go test ./internal/docs -update
package docs
