package webhook

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/egress"
)

// TestTwoThousandDeliveriesOfWhichAThirdFailFirst has two replicas share the work: all arrive, none twice but for the
// failures.
func TestTwoThousandDeliveriesOfWhichAThirdFailFirst(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	failed, taken := map[string]bool{}, map[string]int{}
	r := newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
		key := req.URL.Path + req.Header.Get("webhook-id")
		mu.Lock()
		defer mu.Unlock()
		if !failed[key] && rand.IntN(10) < 3 {
			failed[key] = true
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		taken[key]++
	})
	b := setup(t, []*receiver{r})
	const accounts, each, events = 10, 10, 20
	for i := range accounts {
		p := b.newAccount()
		for j := range each {
			b.endpointOf(p, fmt.Sprintf("%s/%d-%d", r.URL, i, j))
		}
		for range events {
			b.emit(p)
		}
	}
	other := b.replica()
	for range 2 {
		var wg sync.WaitGroup
		for _, s := range []*Service{b.Service, other} {
			wg.Go(func() {
				if _, err := s.Deliver(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		b.clock.Advance(time.Minute)
	}
	if n := b.number(`select count(*) from webhook_deliveries where state = 'delivered'`); n != accounts*each*events || len(taken) != n {
		t.Errorf("%d delivered, %d arrived", n, len(taken))
	}
	for key, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", key, n)
		}
	}
	if got := b.Stats().Attempts + other.Stats().Attempts; got != int64(accounts*each*events+len(failed)) || len(failed) < 400 {
		t.Errorf("%d attempts, %d failures", got, len(failed))
	}
}

// TestASlowAccountDoesNotDelayOthers fills every queue of one account with a receiver that does not answer. At any moment
// it has at most four attempts an endpoint and sixteen in all.
func TestASlowAccountDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	var at, most atomic.Int64
	perEndpoint := [8]atomic.Int64{}
	release, held := make(chan struct{}), make(chan struct{}, 1000)
	slow := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		n, e := at.Add(1), perEndpoint[req.URL.Path[1]-'0'].Add(1)
		if n > 16 || e > 4 {
			t.Errorf("%d attempts at once, %d to one endpoint", n, e)
		}
		most.Store(max(most.Load(), n))
		held <- struct{}{}
		<-release
		perEndpoint[req.URL.Path[1]-'0'].Add(-1)
		at.Add(-1)
	})
	good := newReceiver(t, nil)
	b := setup(t, []*receiver{slow, good}, func(o *Options) { o.Waits.Attempt = 30 * time.Second })
	for i := range 8 {
		b.endpointOf(b.account, fmt.Sprintf("%s/%d", slow.URL, i))
	}
	for range 10 {
		b.emit(b.account)
	}
	done := make(chan int)
	go func() {
		n, err := b.Deliver(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- n
	}()
	for range 16 {
		<-held
	}
	p := b.newAccount()
	b.endpointOf(p, good.URL)
	for range 20 {
		b.emit(p)
	}
	other := b.replica() // Another replica also delivers while the first is busy.
	if n, err := other.Deliver(t.Context()); err != nil || n != 20 || len(good.got()) != 20 {
		t.Errorf("%d, %v, %d calls", n, err, len(good.got()))
	}
	close(release)
	if n := <-done; n != 80 || most.Load() != 16 {
		t.Errorf("%d attempts, %d at once", n, most.Load())
	}
}

// canary is a listener that counts who comes.
func canary(t *testing.T, network, address string) (port string, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	l, err := net.Listen(network, address)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	_, port, err = net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port, calls
}

// spellings are forms in which parsers read an address.
func spellings(a netip.Addr) []string {
	if a.Is6() {
		return []string{"[" + a.String() + "]", "[" + a.StringExpanded() + "]", "[" + a.String() + "%25lo]"}
	}
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return []string{
		a.String(), a.String() + ".", fmt.Sprint(n), fmt.Sprintf("0x%08x", n), fmt.Sprintf("0%o", n),
		fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]), fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff),
		fmt.Sprintf("[::ffff:%s]", a), fmt.Sprintf("[::%s]", a), fmt.Sprintf("[64:ff9b::%s]", a), fmt.Sprintf("[2002:%02x%02x:%02x%02x::]", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("good.example@%s", a), fmt.Sprintf("%s#@good.example", a), fmt.Sprintf("good.example\\@%s", a),
	}
}

// TestFault82NoFormOfAnInternalAddressIsReached tries every form at registration, and again behind a registration that
// was forced, where only the connection itself can refuse it.
func TestFault82NoFormOfAnInternalAddressIsReached(t *testing.T) {
	t.Parallel()
	port, calls := canary(t, "tcp4", "127.0.0.1:0")
	inside := []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1", "224.0.0.1",
		"::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
	}
	resolver := &names{asked: map[string]int{}, answers: map[string][]string{"good.example": {"93.184.216.34"}}}
	var urls []string
	for i, s := range inside {
		name := fmt.Sprintf("n%d.example", i)
		resolver.answers[name] = []string{s}
		resolver.answers["both-"+name] = []string{"93.184.216.34 " + s}
		for _, host := range append(spellings(netip.MustParseAddr(s)), name, "both-"+name, name+".") {
			urls = append(urls, "https://"+host+"/", "https://"+host+":"+port+"/", "http://"+host+":"+port+"/hook")
		}
	}
	for _, scheme := range []string{"file", "gopher", "unix", "ftp", "ws", "dict"} {
		urls = append(urls, scheme+"://127.0.0.1:"+port+"/", scheme+":///etc/passwd")
	}
	for _, p := range []string{"22", "25", "6379", "5432", "0", "65536"} {
		urls = append(urls, "https://good.example:"+p+"/")
	}
	urls = append(urls, "https://localhost/", "https://localhost.:"+port, "https://ⓛocalhost/", "https://127。0。0。1/", "https://user:pw@good.example/",
		"//127.0.0.1:"+port+"/", "https://intranet/", "https://good.example/\r\nHost: x", "")
	if len(urls) < 500 {
		t.Fatalf("only %d forms", len(urls))
	}
	b := setupOver(t, egress.Options{Resolver: resolver, Timeout: 2 * time.Second})
	for _, u := range urls {
		if _, _, err := b.Create(t.Context(), b.account, EndpointSpec{Name: "n", URL: u, EventTypes: Types()}); err == nil {
			t.Errorf("%q was registered", u)
		}
	}
	e, _ := b.endpointOf(b.account, "https://good.example/")
	b.emit(b.account)
	for _, u := range urls {
		if strings.Contains(u, "good.example:") || u == "" || strings.HasPrefix(u, "https://user:pw@") {
			continue // Such URLs lead outside or cannot be stored.
		}
		b.exec(`update webhook_endpoints set url = $2 where id = $1`, e.ID, u)
		b.clock.Advance(time.Second)
		x, err := b.Test(t.Context(), b.account, e.ID, VideoFailed)
		if err != nil || x.Status != 0 || x.Error == "" {
			t.Errorf("%q: %+v, %v", u, x, err)
		}
	}
	resolver.answers["rebind.example"] = []string{"93.184.216.34", "127.0.0.1"}
	rebind := "https://rebind.example/"
	_, err := b.Update(t.Context(), b.account, e.ID, EndpointChange{URL: &rebind})
	must(t, err)
	b.deliver(1)
	if d := b.only(); d.State != Pending || d.LastStatus != 0 || !strings.Contains(d.LastError, "public") || strings.Contains(d.LastError, "127.") {
		t.Errorf("%+v", d)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the canary saw %d connections", n)
	}
}
