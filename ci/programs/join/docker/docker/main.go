// docker stands in for docker.exe: the commands that kubeadm before 1.24 calls, by the engine's own client.
//
//	docker info [-f TEMPLATE | --format TEMPLATE]
//	docker ps -a -q --filter FILTER
//	docker stop ID
//	docker rm --volumes ID
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

func format(text string, value any) error {
	functions := template.FuncMap{"json": func(of any) (string, error) {
		bytes, err := json.Marshal(of)
		return string(bytes), err
	}}
	if text == "" {
		text = "Server Version: {{.ServerVersion}}\nStorage Driver: {{.Driver}}"
	}
	made, err := template.New("").Funcs(functions).Parse(text + "\n")
	if err != nil {
		return err
	}
	return made.Execute(os.Stdout, value)
}

func list(ctx context.Context, c *client.Client, all bool, filter string) error {
	options := types.ContainerListOptions{All: all, Filters: filters.NewArgs()}
	if name, value, ok := strings.Cut(filter, "="); ok {
		options.Filters.Add(name, value)
	}
	found, err := c.ContainerList(ctx, options)
	for _, one := range found {
		fmt.Println(one.ID[:12])
	}
	return err
}

func call(ctx context.Context, c *client.Client, command string, arguments []string) error {
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	var text, filter string
	flags.StringVar(&text, "f", "", "template")
	flags.StringVar(&text, "format", "", "template")
	flags.StringVar(&filter, "filter", "", "filter")
	all, volumes := flags.Bool("a", false, "all"), flags.Bool("volumes", false, "with volumes")
	flags.Bool("q", true, "IDs alone")
	flags.Parse(arguments)
	switch command {
	case "info":
		info, err := c.Info(ctx)
		if err != nil {
			return err
		}
		return format(text, info)
	case "ps":
		return list(ctx, c, *all, filter)
	case "stop":
		return c.ContainerStop(ctx, flags.Arg(0), nil)
	case "rm":
		return c.ContainerRemove(ctx, flags.Arg(0), types.ContainerRemoveOptions{RemoveVolumes: *volumes})
	}
	return fmt.Errorf("docker: '%s' is not a docker command", command)
}

func main() {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err == nil && len(os.Args) < 2 {
		err = fmt.Errorf("docker: a command is missing")
	}
	if err == nil {
		err = call(context.Background(), c, os.Args[1], os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
