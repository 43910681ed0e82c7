package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"umg/e2e/rawhttp"
)

// readBufferBytes holds the longest header line of a request.
const readBufferBytes = 16 << 10

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mockupstream:", err)
		os.Exit(1)
	}
	fmt.Println(ln.Addr())
	fmt.Fprintln(os.Stderr, "mockupstream:", serve(ln, newAnswers()))
	os.Exit(1)
}

// serve answers the requests of each connection until the listener fails.
func serve(ln net.Listener, all answers) error {
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		// goroutine: the program owns it; it ends with its connection.
		go func() {
			defer func() { _ = conn.Close() }()
			_ = converse(conn, all)
		}()
	}
}

// converse answers one request after the other. It reads the whole body of a request before it answers, as providers do.
func converse(conn net.Conn, all answers) error {
	in := rawhttp.NewReader(conn, readBufferBytes)
	for {
		head, err := in.Head()
		if err != nil {
			return err
		}
		a := all.find(head.Start)
		if err := in.Body(head, nil); err != nil {
			return err
		}
		if err := a.writeTo(conn); err != nil || head.Close {
			return err
		}
	}
}

// writeTo writes each event when it is due, in one write each.
func (a *answer) writeTo(conn net.Conn) error {
	var began time.Time
	if a.pace > 0 {
		began = time.Now()
	}
	for i, event := range a.writes {
		if a.pace > 0 && i > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(i) * a.pace)))
		}
		if _, err := conn.Write(event); err != nil {
			return err
		}
	}
	return nil
}
