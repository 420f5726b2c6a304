package shop_test

import "fmt"

type server struct{}

// greet says hello.
func (s *server) greet() string {
	return "hello"
}

func Example_greeting() {
	s := &server{}
	if s != nil {
		fmt.Println(s.greet())
	}
	// Output: hello
}
