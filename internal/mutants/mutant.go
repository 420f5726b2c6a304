package mutants

import "slices"

// Mutant replaces one piece of a source file, and names the test that has to notice.
type Mutant struct {
	Name string
	File string // from the root of the module
	Old  string // stands in File exactly once
	New  string
	Test string // package and test, as in ./outbox/memstore#TestStore/claim/takes_a_message_once
}

// All returns every mutant.
func All() []Mutant { return slices.Concat(Rules(), Store(), Server(), Publisher(), Engine()) }
