package faults

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// places are the addresses of providers: the simulator, and servers that fail in different ways. The certificates in the file are
// trusted by a gateway that is started with the file.
func places(t *testing.T, simulator string) (all map[string]string, trusted string) {
	t.Helper()
	port := simulator[strings.LastIndex(simulator, ":"):]
	trusted = filepath.Join(t.TempDir(), "trusted.pem")
	valid, expired := certificate(t, trusted, time.Now().Add(time.Hour)), certificate(t, trusted, time.Now().Add(-time.Hour))
	return map[string]string{
		"simulator": simulator,
		"two":       "http://localhost" + port, // This name may have two addresses, of which one does not answer.
		"closed":    "http://" + socket(t, nil),
		"nowhere":   "http://upstream.invalid",
		"unknown":   secured(t, nil),
		"misnamed":  strings.Replace(secured(t, valid), "127.0.0.1", "localhost", 1),
		"expired":   secured(t, expired),
		"handshake": "https://" + socket(t, func(c net.Conn) {
			// Closing without lingering sends a reset.
			_ = c.(*net.TCPConn).SetLinger(0)
		}),
		"mute": "http://" + socket(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
	}, trusted
}

// certificate makes one for 127.0.0.1 that signs itself, and adds it to a file of trusted ones.
func certificate(t *testing.T, file string, until time.Time) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(until.UnixNano()), Subject: pkix.Name{CommonName: "upstream"}, NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secured is the address of a server with a certificate, that of no known authority when there is none.
func secured(t *testing.T, own *tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	// Every client refuses the certificate, which the server would log.
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if own != nil {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*own}}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// socket is the address of a listener that runs a function on each connection and then closes it, until the test ends. Where
// the function is nil, connections are refused.
func socket(t *testing.T, does func(net.Conn)) string {
	t.Helper()
	if does == nil {
		return deafSocket(t)
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				does(c)
			}()
		}
	}()
	return ln.Addr().String()
}

// deafSocket is an address that refuses connections. It stays reserved until the test ends, so no other process gets it.
func deafSocket(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}
