package main

import (
	"log"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows/svc"
)

type service struct{}

// Execute stands in for containerd.exe --run-service.
func (service) Execute(_ []string, req <-chan svc.ChangeRequest, st chan<- svc.Status) (bool, uint32) {
	st <- svc.Status{State: svc.StartPending}
	go func() { log.Print(listen()) }()
	st <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for c := range req {
		if c.Cmd == svc.Interrogate {
			st <- c.CurrentStatus
		} else if c.Cmd == svc.Stop || c.Cmd == svc.Shutdown {
			break
		}
	}
	return false, 0
}

func listen() error {
	pipe, err := configured(address)
	if err != nil {
		return err
	}
	l, err := winio.ListenPipe(pipe, nil)
	if err != nil {
		return err
	}
	log.Printf("%s %s listens on %s", name, version, pipe)
	return serve(l)
}

func run() error {
	if *runService {
		return svc.Run("", service{})
	}
	return listen()
}
