// Command vcsim is govmomi's simulated vCenter Server with machines that answer.
//
//	vcsim -listen 127.0.0.1:8989 -out DIR
//
// A machine that is powered on reports the guest address 127.0.0.1. When it is powered on for the first time, DIR gets
// its description (powered-on.json) and a copy of each disc of the datastore (disc-N). SIGUSR1 is the guest's own
// shutdown of every machine. SIGTERM writes what became of them (machines.json) and ends the program.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// machine is what a test asks of a virtual machine.
type machine struct {
	Name       string            `json:"name"`
	Template   bool              `json:"template"`
	Power      string            `json:"power"`
	GuestID    string            `json:"guestId"`
	Version    string            `json:"version"`
	Firmware   string            `json:"firmware"`
	SecureBoot bool              `json:"secureBoot"`
	Notes      string            `json:"notes"`
	CPUs       int32             `json:"cpus"`
	Memory     int32             `json:"memory"`
	Devices    []string          `json:"devices"`
	Discs      []string          `json:"discs"`
	Settings   map[string]string `json:"settings"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8989", "address")
	out := flag.String("out", "", "folder for what a test reads")
	flag.Parse()
	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.Host, model.ClusterHost, model.Machine = 1, 1, 1, 1, 1
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	defer model.Remove()
	model.Service.RegisterEndpoints = true
	model.Service.TLS = new(tls.Config)
	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword("user", "invented-vcenter-password")}
	server := model.Service.NewServer()
	defer server.Close()
	if err := createLibrary(server.URL, "images"); err != nil {
		log.Fatal(err)
	}
	simulator.Map.Put(keys)
	simulator.Map.Handler = watchCalls
	fmt.Println("ready")
	serve(*out)
}

// keyboard takes the keys that Packer presses, which the simulator does not know.
type keyboard struct {
	pressed int
}

var keys = &keyboard{}

// secure has the machines for which Secure Boot was asked. The simulator replaces all boot options by the next ones,
// where vCenter Server changes those alone that are given.
var secure sync.Map

func watchCalls(_ *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if method.Name == "PutUsbScanCodes" {
		method.This = keys.Reference()
	}
	if change, ok := method.Body.(*types.ReconfigVM_Task); ok {
		if options := change.Spec.BootOptions; options != nil && options.EfiSecureBootEnabled != nil {
			secure.Store(change.This, *options.EfiSecureBootEnabled)
		}
	}
	return nil, nil
}

func (k *keyboard) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Keyboard", Value: "keyboard"}
}

// PutUsbScanCodes is the method of the vSphere API.
func (k *keyboard) PutUsbScanCodes(request *types.PutUsbScanCodes) soap.HasFault {
	k.pressed += len(request.Spec.KeyEvents)
	return &methods.PutUsbScanCodesBody{
		Res: &types.PutUsbScanCodesResponse{Returnval: int32(len(request.Spec.KeyEvents))}}
}

// createLibrary makes a content library on the datastore of the model.
func createLibrary(address *url.URL, name string) error {
	background := context.Background()
	client, err := govmomi.NewClient(background, address, true)
	if err != nil {
		return err
	}
	session := rest.NewClient(client.Client)
	if err := session.Login(background, address.User); err != nil {
		return err
	}
	stores := simulator.Map.All("Datastore")
	_, err = library.NewManager(session).CreateLibrary(background, library.Library{
		Name: name, Type: "LOCAL",
		Storage: []library.StorageBacking{{DatastoreID: stores[0].Reference().Value, Type: "DATASTORE"}},
	})
	return err
}

func serve(out string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	// Machines of the model itself are none of the build's.
	seen, models := map[string]bool{}, map[string]bool{}
	for _, vm := range list() {
		models[vm.Name] = true
	}
	for {
		select {
		case received := <-signals:
			if received != syscall.SIGUSR1 {
				write(out, "machines.json", describeAll())
				write(out, "keys.json", keys.pressed)
				return
			}
			for _, vm := range list() {
				setPower(vm, types.VirtualMachinePowerStatePoweredOff)
			}
		case <-time.After(200 * time.Millisecond):
			for _, vm := range list() {
				if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || models[vm.Name] {
					continue
				}
				if !seen[vm.Name] {
					seen[vm.Name] = true
					described := describe(vm)
					write(out, "powered-on.json", described)
					copyDiscs(described.Discs, out)
				}
				reportAddress(vm)
			}
		}
	}
}

func list() (all []*simulator.VirtualMachine) {
	for _, entity := range simulator.Map.All("VirtualMachine") {
		all = append(all, entity.(*simulator.VirtualMachine))
	}
	return all
}

func update(vm *simulator.VirtualMachine, changes []types.PropertyChange) {
	spoofed := simulator.SpoofContext()
	spoofed.WithLock(vm, func() { simulator.Map.Update(spoofed, vm, changes) })
}

func setPower(vm *simulator.VirtualMachine, state types.VirtualMachinePowerState) {
	update(vm, []types.PropertyChange{
		{Name: "runtime.powerState", Val: state}, {Name: "summary.runtime.powerState", Val: state}})
}

// reportAddress does what VMware Tools do once they run.
func reportAddress(vm *simulator.VirtualMachine) {
	var adapters []types.GuestNicInfo
	for _, device := range vm.Config.Hardware.Device {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			adapters = append(adapters, types.GuestNicInfo{
				MacAddress: card.GetVirtualEthernetCard().MacAddress, Connected: true, IpAddress: []string{"127.0.0.1"},
				IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{{IpAddress: "127.0.0.1", PrefixLength: 8}}},
			})
		}
	}
	update(vm, []types.PropertyChange{
		{Name: "guest.net", Val: adapters}, {Name: "guest.ipAddress", Val: "127.0.0.1"},
		{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsOk},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)}})
}

func describeAll() []machine {
	all := []machine{}
	for _, vm := range list() {
		all = append(all, describe(vm))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func describe(vm *simulator.VirtualMachine) machine {
	found := machine{
		Name: vm.Name, Template: vm.Config.Template, Power: string(vm.Runtime.PowerState), GuestID: vm.Config.GuestId,
		Version: vm.Config.Version, Firmware: vm.Config.Firmware, Notes: vm.Config.Annotation,
		CPUs: vm.Config.Hardware.NumCPU, Memory: vm.Config.Hardware.MemoryMB, Settings: map[string]string{},
	}
	if asked, ok := secure.Load(vm.Self); ok {
		found.SecureBoot = asked.(bool)
	}
	for _, option := range vm.Config.ExtraConfig {
		value := option.GetOptionValue()
		found.Settings[value.Key] = fmt.Sprint(value.Value)
	}
	for _, device := range vm.Config.Hardware.Device {
		found.Devices = append(found.Devices, reflect.TypeOf(device).Elem().Name())
		if disc, ok := device.(*types.VirtualCdrom); ok {
			if backing, ok := disc.Backing.(*types.VirtualCdromIsoBackingInfo); ok {
				found.Discs = append(found.Discs, backing.FileName)
			}
		}
	}
	sort.Strings(found.Devices)
	return found
}

// copyDiscs copies the discs before the build deletes them; a disc of the host itself has no file here.
func copyDiscs(discs []string, out string) {
	for number, disc := range discs {
		name, path, _ := strings.Cut(strings.TrimPrefix(disc, "["), "] ")
		for _, entity := range simulator.Map.All("Datastore") {
			store := entity.(*simulator.Datastore)
			if store.Name != name {
				continue
			}
			from, err := os.Open(filepath.Join(store.Info.GetDatastoreInfo().Url, path))
			if err != nil {
				continue
			}
			to, err := os.Create(filepath.Join(out, fmt.Sprintf("disc-%d", number)))
			if err == nil {
				_, err = io.Copy(to, from)
				to.Close()
			}
			from.Close()
			if err != nil {
				log.Print(err)
			}
		}
	}
}

func write(out, name string, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(out, name), append(text, '\n'), 0o644)
	}
	if err != nil {
		log.Print(err)
	}
}
