package main

import (
	"log"

	"golang.org/x/sys/windows/svc"
)

type service struct{}

// Execute stands in for dockerd.exe --run-service.
func (service) Execute(_ []string, req <-chan svc.ChangeRequest, st chan<- svc.Status) (bool, uint32) {
	st <- svc.Status{State: svc.StartPending}
	ended, ready := make(chan error, 1), make(chan bool, 1)
	go func() { ended <- serve(func() { ready <- true }) }()
	for {
		select {
		case <-ready:
			st <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
		case err := <-ended:
			log.Print(err)
			return false, 1
		case c := <-req:
			if c.Cmd == svc.Interrogate {
				st <- c.CurrentStatus
			} else if c.Cmd == svc.Stop || c.Cmd == svc.Shutdown {
				return false, 0
			}
		}
	}
}

func run() error {
	if *runService {
		return svc.Run("", service{})
	}
	return serve(func() {})
}
