package latency

import (
	"fmt"
	"slices"
)

// Offer is how much comes in.
type Offer struct {
	Name string // the condition of a cell
	// PerSecond is a number of messages, or Share one of the rate that was reached flat out. With neither, each writer
	// writes as fast as it can.
	PerSecond float64
	Share     float64
	Messages  int // enough for some seconds
	Most      int // repeats
}

// FlatOut is the name of the offer that finds out how much ours can take.
const FlatOut = "flat out"

// Offers are in the order in which they are to be measured.
func Offers() []Offer {
	return []Offer{
		{Name: FlatOut, Messages: 16_000, Most: 3},
		{Name: "500/s", PerSecond: 500, Messages: 4_000, Most: 3},
		{Name: "10 %", Share: 0.1, Messages: 2_000, Most: 2},
		{Name: "50 %", Share: 0.5, Messages: 8_000, Most: 2},
		{Name: "80 %", Share: 0.8, Messages: 12_000, Most: 2},
	}
}

// Rate returns how many messages are to be written in a second, when flatOut is what can be; 0 for as many as can be.
func Rate(name string, flatOut float64) (float64, error) {
	offers := Offers()
	i := slices.IndexFunc(offers, func(o Offer) bool { return o.Name == name })
	switch {
	case i < 0:
		return 0, fmt.Errorf("no offer is called %q", name)
	case offers[i].Share == 0:
		return offers[i].PerSecond, nil
	case flatOut == 0:
		return 0, fmt.Errorf("%s of what? Measure ours %s first", name, FlatOut)
	}
	return offers[i].Share * flatOut, nil
}
