// pipe takes the first instance of a named pipe and keeps it. Wine lets the first client reach an instance that
// nobody serves; when it is taken, every other client gets one that is served.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/Microsoft/go-winio"
)

func main() {
	timeout, end := 30*time.Second, time.Now().Add(time.Minute)
	c, err := winio.DialPipe(os.Args[len(os.Args)-1], &timeout)
	// A daemon runs for a while before it opens its pipe.
	for errors.Is(err, fs.ErrNotExist) && time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond)
		c, err = winio.DialPipe(os.Args[len(os.Args)-1], &timeout)
	}
	fmt.Println("dial", err)
	if err != nil {
		os.Exit(1)
	}
	defer c.Close()
	time.Sleep(time.Hour)
}
