// The program of each pod's sandbox: it holds the namespaces and reaps orphans until it is told to stop.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	orphan := make(chan os.Signal, 16)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(orphan, syscall.SIGCHLD)
	for {
		select {
		case <-stop:
			return
		case <-orphan:
			reap()
		}
	}
}

func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
