// pipe takes the first instance of a named pipe and keeps it, also of a daemon that is started again. Wine lets the
// first client reach an instance that nobody serves; when it is taken, every other client gets one that is served.
//
//	pipe NAME
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/Microsoft/go-winio"
)

// dial waits for a daemon that runs for a while before it opens its pipe.
func dial(name string) (net.Conn, error) {
	timeout, end := 30*time.Second, time.Now().Add(2*time.Minute)
	for {
		c, err := winio.DialPipe(name, &timeout)
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			return c, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	for {
		c, err := dial(os.Args[1])
		fmt.Println("dial", err)
		if err != nil {
			os.Exit(1)
		}
		// Nobody writes to it: this ends with the daemon.
		c.Read(make([]byte, 1))
		c.Close()
	}
}
