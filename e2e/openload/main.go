// Command openload offers calls at a rate, whether or not answers come: each is sent when it is due, and its time counts from
// then. It exists to overload a gateway from a process of its own. It does not know what the answers say.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	var l load
	flag.StringVar(&l.url, "url", "", "where to post to")
	keys := flag.String("keys", "", "keys to call with in turn, with commas between them")
	flag.StringVar(&l.body, "body", "", "what to post")
	flag.IntVar(&l.perSecond, "rate", 100, "calls a second")
	flag.DurationVar(&l.lasting, "for", time.Second, "how long to offer them")
	flag.Parse()
	l.keys = strings.Split(*keys, ",")
	if l.url == "" || l.perSecond <= 0 {
		fmt.Fprintln(os.Stderr, "openload: -url and -rate are needed")
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(l.run()); err != nil {
		os.Exit(1)
	}
}
