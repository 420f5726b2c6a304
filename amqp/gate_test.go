package amqp

import "testing"

func TestGate(t *testing.T) {
	t.Parallel()
	told, other := &link{}, &link{}

	t.Run("is_closed_until_the_last_block_is_taken_back", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		g.block(told, "low on memory")
		g.block(other, "low on disk")
		g.unblock(told)
		if g.err() == nil || g.holds(told) || !g.holds(other) {
			t.Error("the gate is open while a connection is blocked")
		}
		g.unblock(other)
		if err := g.err(); err != nil {
			t.Errorf("the gate is closed without a block: %v", err)
		}
		if got := g.window(500); got != 500 {
			t.Errorf("window is %d after the block was taken back, want 500", got)
		}
	})

	t.Run("lets_single_messages_through_after_a_blocked_connection_was_lost_until_one_is_confirmed", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		g.block(told, "low on memory")
		g.lose(told)
		if err := g.err(); err != nil {
			t.Errorf("the gate is closed with nobody to open it: %v", err)
		}
		if got := g.window(500); got != 1 {
			t.Errorf("window is %d, want 1", got)
		}
		g.confirmed()
		if got := g.window(500); got != 500 {
			t.Errorf("window is %d after a confirm, want 500", got)
		}
	})

	t.Run("does_not_mind_the_loss_of_other_connections", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		g.lose(other)
		if got := g.window(500); got != 500 {
			t.Errorf("window is %d, want 500", got)
		}
	})
}
