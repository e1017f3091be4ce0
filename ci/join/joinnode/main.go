// joinnode does what engine and Join-Node.ps1 do of a join, where no PowerShell runs:
//
//	joinnode apply PLAN         sets each command line that has an argumentsFile, as the phase join does
//	joinnode join PLAN CONFIG   disables the kubelet, runs kubeadm join, completes and starts the kubelet
//	joinnode bare CONFIG        runs kubeadm join and nothing else
//
// It ends as kubeadm does.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/mgr"
)

const kubelet = "kubelet"

type resource struct {
	Type       string
	Properties struct {
		ServiceName, CommandLine string
		Key, ValueName           string
		Data                     any
		ArgumentsFile            *struct{ Path, Variable string }
	}
}

type plan struct{ Resources []resource }

func readPlan(path string) (p plan, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// behind gives what the file says of the variable, with a blank before it; nothing without the file.
func behind(path, variable string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`\A` + variable + `="((?:[^"\\\r\n]|\\["\\])*)"\r?\n\z`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s is not one whole line: %q", path, text)
	}
	value := regexp.MustCompile(`\\(["\\])`).ReplaceAllString(string(found[1]), "$1")
	if value == "" {
		return "", nil
	}
	return " " + value, nil
}

func (p plan) apply(m *mgr.Mgr) error {
	for _, r := range p.Resources {
		it := r.Properties
		if it.ArgumentsFile == nil {
			continue
		}
		more, err := behind(it.ArgumentsFile.Path, it.ArgumentsFile.Variable)
		if err != nil {
			return err
		}
		switch r.Type {
		case "service":
			err = change(m, it.ServiceName, windows.SERVICE_NO_CHANGE, it.CommandLine+more)
		case "registryValue":
			err = setValue(it.Key, it.ValueName, it.Data.(string)+more)
		default:
			err = fmt.Errorf("%s: nobody completes it", r.Type)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setValue(key, name, data string) error {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, strings.TrimPrefix(key, `HKLM:\`), registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	return k.SetExpandStringValue(name, data)
}

// change sets start type and command line of a service that is there; empty is no change.
func change(m *mgr.Mgr, name string, start uint32, line string) error {
	s, err := m.OpenService(name)
	if err != nil {
		return err
	}
	defer s.Close()
	var text *uint16
	if line != "" {
		if text, err = windows.UTF16PtrFromString(line); err != nil {
			return err
		}
	}
	const same = windows.SERVICE_NO_CHANGE
	return windows.ChangeServiceConfig(s.Handle, same, start, same, text, nil, nil, nil, nil, nil, nil)
}

func start(m *mgr.Mgr, name string) error {
	s, err := m.OpenService(name)
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.Start()
	if errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
		return nil
	}
	return err
}

func whole(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.HasSuffix(string(text), "\n")
}

// watch passes on what kubeadm says and tells when it has tried in vain to start the kubelet.
type watch struct {
	sync.Mutex
	said  []byte
	tried chan struct{}
	once  sync.Once
}

func (w *watch) Write(text []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	w.said = append(w.said, text...)
	if bytes.Contains(w.said, []byte("unable to start the kubelet service")) {
		w.once.Do(func() { close(w.tried) })
	}
	return os.Stdout.Write(text)
}

func kubeadm(config string) (*exec.Cmd, *watch) {
	w := &watch{tried: make(chan struct{})}
	c := exec.Command(`C:\k\kubeadm.exe`, "join", "--config", config)
	c.Stdout, c.Stderr = w, w
	return c, w
}

func (p plan) join(m *mgr.Mgr, config string) error {
	var file string
	for _, r := range p.Resources {
		if it := r.Properties.ArgumentsFile; it != nil && it.Variable == "KUBELET_KUBEADM_ARGS" {
			file = it.Path
		}
	}
	if err := change(m, kubelet, mgr.StartDisabled, ""); err != nil {
		return err
	}
	defer change(m, kubelet, mgr.StartManual, "")
	c, w := kubeadm(config)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !whole(file) {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
	// The worst that can be: kubeadm was first.
	select {
	case err := <-ended:
		return err
	case <-w.tried:
	}
	err := p.apply(m)
	if err == nil {
		err = change(m, kubelet, mgr.StartManual, "")
	}
	if err == nil {
		err = start(m, kubelet)
	}
	if err != nil {
		c.Process.Kill()
		return err
	}
	return <-ended
}

func run() error {
	m, err := mgr.Connect()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	if os.Args[1] == "bare" {
		c, _ := kubeadm(os.Args[2])
		return c.Run()
	}
	p, err := readPlan(os.Args[2])
	if err != nil {
		return err
	}
	if os.Args[1] == "apply" {
		return p.apply(m)
	}
	return p.join(m, os.Args[3])
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "joinnode:", err)
		os.Exit(1)
	}
}
