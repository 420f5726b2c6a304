package outbox

// LaneOf returns the lane of m among lanes (at least 1): Kafka's murmur2 of the key, or of the id's 16 bytes for a
// message without one, its sign bit cleared, modulo lanes. Stores keep what it returns, so it never changes.
func LaneOf(m *Message, lanes int) int {
	if m.Key == "" {
		return laneOfBytes(m.ID[:], lanes)
	}
	return laneOfBytes([]byte(m.Key), lanes)
}

func laneOfBytes(b []byte, lanes int) int {
	return int(murmur2(b)&0x7fffffff) % lanes
}

// murmur2 is the hash of Kafka's Java client (org.apache.kafka.common.utils.Utils.murmur2, seed 0x9747b28c).
func murmur2(b []byte) uint32 {
	const seed, m, r = 0x9747b28c, 0x5bd1e995, 24
	h := uint32(seed) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h *= m
		h ^= k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}
