// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func testSettings(dir string) Settings {
	return Settings{
		Dir: state.Dir(dir),
		Config: state.Config{
			FeatureGates:  map[string]string{"B": "false", "A": "true"},
			RuntimeConfig: map[string]string{"lifecycle.k8s.io/v1alpha1": "true"},
			ExtraArgs:     map[string][]string{Scheduler: {"v=4"}, APIServer: {"bind-address=0.0.0.0"}},
		},
		Ports:  map[string]int{Etcd: 1, etcdPeer: 2, APIServer: 3, ControllerManager: 4, Scheduler: 5, Kwok: 6},
		Stages: []string{"/s/one.yaml", "/s/two.yaml"},
	}
}

func args(t *testing.T, name string) []string {
	t.Helper()
	built, found := Build(name, testSettings("/d"))
	if !found {
		t.Fatalf("no component %s", name)
	}
	return built.Args
}

func TestArguments(t *testing.T) {
	cases := map[string]struct {
		component string
		want      []string
	}{
		"etcd asks its clients for a certificate": {Etcd, []string{"--client-cert-auth=true", "--trusted-ca-file=/d/pki/etcd-ca.crt"}},
		"the API server authorizes as in a real cluster": {APIServer, []string{
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		}},
		"the API server logs every request to one file": {APIServer, []string{"--audit-log-path=/d/audit.log", "--audit-log-maxsize=1048576"}},
		"feature gates reach the API server, sorted":    {APIServer, []string{"--feature-gates=A=true,B=false"}},
		"feature gates reach the controller-manager":    {ControllerManager, []string{"--feature-gates=A=true,B=false"}},
		"feature gates reach the scheduler":             {Scheduler, []string{"--feature-gates=A=true,B=false"}},
		"API groups are switched on":                    {APIServer, []string{"--runtime-config=lifecycle.k8s.io/v1alpha1=true"}},
		"kwok leaves other nodes alone":                 {Kwok, []string{"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake"}},
		"kwok reads all stages":                         {Kwok, []string{"--config=/s/one.yaml", "--config=/s/two.yaml"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := args(t, tc.component)
			for _, want := range tc.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not among the arguments:\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// The last of two equal flags wins, so extra arguments have to come last.
func TestExtraArgumentsWin(t *testing.T) {
	got := args(t, APIServer)
	if last := got[len(got)-1]; last != "--bind-address=0.0.0.0" {
		t.Errorf("the last argument is %s", last)
	}
}

func TestEverythingListensOnLoopback(t *testing.T) {
	settings := testSettings("/d")
	settings.Config.ExtraArgs = nil
	for _, name := range Names() {
		built, _ := Build(name, settings)
		if !strings.Contains(built.Health.URL, "://127.0.0.1:") {
			t.Errorf("%s is asked at %s", name, built.Health.URL)
		}
		for _, arg := range built.Args {
			if strings.Contains(arg, "0.0.0.0") {
				t.Errorf("%s: %s", name, arg)
			}
		}
	}
}

func TestEveryFileThatIsNamedIsMade(t *testing.T) {
	settings := testSettings(t.TempDir())
	if err := os.MkdirAll(settings.Dir.PKI(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteIdentities(settings.Dir); err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfigs(settings); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		built, _ := Build(name, settings)
		for _, arg := range built.Args {
			_, path, _ := strings.Cut(arg, "=")
			isMade := strings.HasPrefix(path, settings.Dir.PKI()) || strings.HasPrefix(path, settings.Dir.Kubeconfigs())
			if _, err := os.Stat(path); isMade && err != nil {
				t.Errorf("%s: %s: %v", name, arg, err)
			}
		}
	}
}

func TestPrivateKeysArePrivate(t *testing.T) {
	dir := state.Dir(t.TempDir())
	if err := os.MkdirAll(dir.PKI(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteIdentities(dir); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(dir.PKI(), "*.key"))
	if err != nil || len(keys) == 0 {
		t.Fatalf("keys: %v, %v", keys, err)
	}
	for _, key := range keys {
		info, err := os.Stat(key)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", key, info.Mode(), err)
		}
	}
}

func TestFailedChecks(t *testing.T) {
	cases := map[string]struct{ report, want string }{
		"only what failed is kept": {"[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n", "[-]etcd failed: reason withheld"},
		"a plain answer is kept":   {"not yet\n", "not yet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := failedChecks(tc.report); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCertificatesAreForWhatTheyAreFor(t *testing.T) {
	dir := state.Dir(t.TempDir())
	if err := os.MkdirAll(dir.PKI(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteIdentities(dir); err != nil {
		t.Fatal(err)
	}
	load := func(name string) *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(dir.Cert(name), dir.Key(name))
		if err != nil {
			t.Fatalf("%s: certificate and key do not fit: %v", name, err)
		}
		return pair.Leaf
	}
	pool := func(name string) *x509.CertPool {
		made := x509.NewCertPool()
		made.AddCert(load(name))
		return made
	}
	asClient := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if _, err := load(APIServer).Verify(x509.VerifyOptions{Roots: pool(Authority), DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	admin := load(Admin)
	if _, err := admin.Verify(x509.VerifyOptions{Roots: pool(Authority), KeyUsages: asClient}); err != nil {
		t.Error(err)
	}
	if _, err := admin.Verify(x509.VerifyOptions{Roots: pool(etcdAuthority), KeyUsages: asClient}); err == nil {
		t.Error("another authority vouches for the administrator")
	}
	if _, err := admin.Verify(x509.VerifyOptions{Roots: pool(Authority)}); err == nil {
		t.Error("the administrator's certificate is good for a server")
	}
	if admin.Subject.CommonName != "admin" || !slices.Equal(admin.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("subject %v", admin.Subject)
	}
}

func TestAKubeconfigLeadsToTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	want := &rest.Config{Host: "https://127.0.0.1:7", TLSClientConfig: rest.TLSClientConfig{CAFile: "/ca"}, BearerTokenFile: "/token"}
	if err := WriteKubeconfig(path, "sa", "ns", want); err != nil {
		t.Fatal(err)
	}
	written, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if cluster := written.Clusters["localcluster"]; cluster.Server != want.Host || cluster.CertificateAuthority != "/ca" {
		t.Errorf("cluster %+v", cluster)
	}
	if user := written.AuthInfos["sa"]; user.TokenFile != "/token" {
		t.Errorf("user %+v", user)
	}
	if used := written.Contexts[written.CurrentContext]; used.AuthInfo != "sa" || used.Namespace != "ns" {
		t.Errorf("context %+v", used)
	}
}
