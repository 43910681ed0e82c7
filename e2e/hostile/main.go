// Command hostile attacks a gateway with one key, in every way that costs the attacker less than the gateway: declared bodies,
// bodies that come slowly, large dry runs and calls, floods of GET requests, and streams that it leaves. It uses no more than a
// given part of one processor. It exists for the tests, and calls loopback addresses only.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

func main() {
	var a attack
	flag.StringVar(&a.url, "url", "", "origin of the gateway")
	flag.StringVar(&a.key, "key", "", "key to attack with")
	flag.StringVar(&a.model, "model", "", "model to name")
	flag.DurationVar(&a.lasting, "for", time.Second, "how long to attack")
	flag.Float64Var(&a.share, "share", 0.5, "part of one processor to use")
	flag.Parse()
	origin, err := url.Parse(a.url)
	if err != nil || a.key == "" || a.model == "" || !net.ParseIP(origin.Hostname()).IsLoopback() {
		fmt.Fprintln(os.Stderr, "hostile: -url of a loopback address, -key and -model are needed")
		os.Exit(2)
	}
	a.address = origin.Host
	if err := json.NewEncoder(os.Stdout).Encode(a.run()); err != nil {
		os.Exit(1)
	}
}
