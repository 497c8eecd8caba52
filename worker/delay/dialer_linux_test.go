package delay

import (
	"os"
	"testing"
)

func TestDialer(t *testing.T) {
	_, client, _ := pair(t, Config{}, realClock{})
	if pid, ok := Dialer(client.LocalAddr(), []int{1 << 30, os.Getpid()}); !ok || pid != os.Getpid() {
		t.Errorf("the dialer is %d, %v, want this process", pid, ok)
	}
	if pid, ok := Dialer(client.LocalAddr(), []int{1 << 30}); ok {
		t.Errorf("the dialer is %d, want none, because this process is not in the list", pid)
	}
}
