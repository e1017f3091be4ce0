// ask PIPE IMAGE asks a runtime what a kubelet asks: its status, with what it says of itself, and an image.
// Both answers are one JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/Microsoft/go-winio"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	connection, err := grpc.NewClient("passthrough:///"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, pipe string) (net.Conn, error) { return winio.DialPipeContext(ctx, pipe) }))
	if err != nil {
		end(err)
	}
	status, err := cri.NewRuntimeServiceClient(connection).Status(ctx, &cri.StatusRequest{Verbose: true})
	if err != nil {
		end(err)
	}
	_, err = cri.NewImageServiceClient(connection).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: os.Args[2]}})
	answers := map[string]any{"status": status.Status, "info": status.Info, "pull": fmt.Sprint(err)}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		end(err)
	}
}

func end(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
