package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Answer is what a request was answered with, as far as it is kept.
type Answer struct {
	Status int
	Header map[string][]string
	Body   []byte
	// Omitted says that header and body were too large to be kept. The request has run all the same, and must not run
	// again.
	Omitted bool
}

// head is all but the body, in the form that stores keep. Values are bytes, because a header need not be UTF-8.
type head struct {
	Version int     `json:"v"`
	Status  int     `json:"status"`
	Omitted bool    `json:"omitted,omitempty"`
	Header  []field `json:"header,omitempty"`
}

type field struct {
	Name   string   `json:"name"`
	Values [][]byte `json:"values"`
}

const answerVersion = 1

var errAnswer = errors.New("idempotency: not an answer that this version has written")

// MarshalBinary returns the answer in the form in which a store keeps it: a line of JSON and the body as it is.
func (a Answer) MarshalBinary() ([]byte, error) {
	h := head{Version: answerVersion, Status: a.Status, Omitted: a.Omitted}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		f := field{Name: name}
		for _, value := range a.Header[name] {
			f.Values = append(f.Values, []byte(value))
		}
		h.Header = append(h.Header, f)
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return slices.Concat(line, []byte{'\n'}, a.Body), nil
}

// UnmarshalBinary reads what MarshalBinary has written. It keeps nothing of data.
func (a *Answer) UnmarshalBinary(data []byte) error {
	line, body, found := bytes.Cut(data, []byte{'\n'})
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("decode an answer: %w", err)
	}
	if !found || h.Version != answerVersion {
		return errAnswer
	}
	*a = Answer{Status: h.Status, Omitted: h.Omitted, Header: make(map[string][]string, len(h.Header))}
	for _, f := range h.Header {
		for _, value := range f.Values {
			a.Header[f.Name] = append(a.Header[f.Name], string(value))
		}
	}
	if len(body) > 0 {
		a.Body = bytes.Clone(body)
	}
	return nil
}
