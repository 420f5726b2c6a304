package main

import (
	"hash/fnv"
	"slices"
	"strconv"
	"testing"
)

// BenchmarkReference is the fixed loop that others are divided by: the kind of work that they do, small allocations,
// maps, copies and sorting, without special instructions of a processor and without anything of ours.
func BenchmarkReference(b *testing.B) {
	payload := make([]byte, 300)
	for b.Loop() {
		seen := map[string]uint64{}
		var sums []uint64
		for i := range 500 {
			key := "key-" + strconv.Itoa(i%100)
			copied := slices.Clone(payload)
			hash := fnv.New64a()
			_, _ = hash.Write([]byte(key))
			_, _ = hash.Write(copied[:32])
			seen[key] = hash.Sum64()
			sums = append(sums, seen[key]^uint64(i))
		}
		slices.Sort(sums)
	}
}
