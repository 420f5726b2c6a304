package outbox

// waves cuts a claim into the calls of Publish that keep the order of its keys: a message goes out only when all
// earlier ones of its key have been accepted, or together with them where the publisher keeps them in order itself.
// It returns the wave of each message and their number.
func waves(claimed []*Claimed, mode Mode, keyOrdered bool) (wave []int, n int) {
	wave = make([]int, len(claimed))
	if mode == Pipelined {
		return wave, 1
	}
	last := make(map[string]int, len(claimed)) // key → its latest message
	for i, c := range claimed {
		if c.Key == "" {
			continue
		}
		if j, ok := last[c.Key]; ok {
			wave[i] = wave[j]
			if !keyOrdered || !sameDestination(claimed[j], c) {
				wave[i]++
			}
			n = max(n, wave[i])
		}
		last[c.Key] = i
	}
	return wave, n + 1
}

// sameDestination: a publisher keeps a key in order within one topic only, because topics are independent of one
// another.
func sameDestination(a, b *Claimed) bool {
	return a.Topic == b.Topic && a.Transport == b.Transport
}
