// Package mutants proves that tests can fail. Each [Mutant] breaks one promise in the source; its test builds the
// broken code and wants the test of that promise to turn red. It takes minutes and runs by `make soak`:
//
//	go test -tags soak ./internal/mutants
package mutants
