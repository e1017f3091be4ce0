// pipe takes the first instance of a named pipe and keeps it. Wine lets the first client reach an instance that
// nobody serves; when it is taken, every other client gets one that is served.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/Microsoft/go-winio"
)

func main() {
	timeout := 30 * time.Second
	c, err := winio.DialPipe(os.Args[len(os.Args)-1], &timeout)
	fmt.Println("dial", err)
	if err != nil {
		os.Exit(1)
	}
	defer c.Close()
	time.Sleep(time.Hour)
}
