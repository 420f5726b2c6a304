package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFlight_torn: a client whose last flush is still ending sends what is handed over next at once. That the broker
// has accepted some of it is as good as the flush; that it has refused some is not, because later records of their keys
// would start anew.
func TestFlight_torn(t *testing.T) {
	t.Parallel()
	refused, accepted := errors.New("refused"), error(nil)
	for name, tc := range map[string]struct {
		answers map[int]error // of a, a, b
		want    bool
	}{
		"before_any_answer":                            {nil, false},
		"when_some_of_a_topic_were_accepted":           {map[int]error{0: accepted}, false},
		"when_all_of_a_topic_were_refused":             {map[int]error{0: refused, 1: refused}, false},
		"when_the_first_of_a_topic_was_refused":        {map[int]error{0: refused}, true},
		"when_the_last_of_a_topic_was_refused":         {map[int]error{1: refused}, true},
		"when_one_was_accepted_and_the_other_refused":  {map[int]error{0: accepted, 1: refused}, false},
		"when_everything_has_an_answer_and_some_a_bad": {map[int]error{0: refused, 1: accepted, 2: accepted}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlight([]*kgo.Record{{Topic: "a"}, {Topic: "a"}, {Topic: "b"}})
			for i, err := range tc.answers {
				f.land(i, err)
			}
			if got := f.torn(); got != tc.want {
				t.Errorf("torn is %v, want %v", got, tc.want)
			}
		})
	}
}
