package gormstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// news is what a relay may want to know.
type news struct {
	lanes map[int]bool // that have something to claim
	all   bool         // any lane may have
	freed bool         // a session gave up its lanes
}

var (
	newsOfAny   = news{all: true}
	newsOfFreed = news{freed: true}
)

func newsOf(lanes []int) news {
	set := make(map[int]bool, len(lanes))
	for _, lane := range lanes {
		set[lane] = true
	}
	return news{lanes: set}
}

func (n *news) add(other news) {
	n.all, n.freed = n.all || other.all, n.freed || other.freed
	if n.lanes == nil {
		n.lanes = map[int]bool{}
	}
	maps.Copy(n.lanes, other.lanes)
}

func (n news) empty() bool { return len(n.lanes) == 0 && !n.all && !n.freed }

// lists is what outbox.Waker sends, one after the other.
func (n news) lists() [][]int {
	var lists [][]int
	switch {
	case n.all:
		lists = append(lists, nil)
	case len(n.lanes) > 0:
		lists = append(lists, slices.Sorted(maps.Keys(n.lanes)))
	}
	if n.freed {
		lists = append(lists, []int{})
	}
	return lists
}

// The words of an announcement between processes: who speaks, and then what.
const (
	wordAny   = "*"
	wordFreed = "-"
	wordProbe = "?" // for the speaker's own ears

	maxWords = 1000 // lanes in an announcement, which PostgreSQL bounds to 8000 bytes
)

// encode is n as words: "<from> 3 17 42 -".
func (n news) encode(from string) string {
	words := []string{from}
	if n.all || len(n.lanes) > maxWords {
		words = append(words, wordAny)
	} else {
		for _, lane := range slices.Sorted(maps.Keys(n.lanes)) {
			words = append(words, strconv.Itoa(lane))
		}
	}
	if n.freed {
		words = append(words, wordFreed)
	}
	return strings.Join(words, " ")
}

// decodeNews reads an announcement; a word that is not known stands for any lane.
func decodeNews(text string) (from string, n news) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", newsOfAny
	}
	n.lanes = map[int]bool{}
	for _, word := range words[1:] {
		lane, err := strconv.Atoi(word)
		switch {
		case word == wordProbe:
			return words[0], news{}
		case word == wordFreed:
			n.freed = true
		case err == nil:
			n.lanes[lane] = true
		default:
			n.all = true
		}
	}
	return words[0], n
}
