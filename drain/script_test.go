// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// TestScripts runs the text scripts in testdata/stories: the story of one drain, each. A command changes the world; then the
// drain decides until it has nothing to do, and all that it does and says is printed.
//
//	request [mode=M] [hold] [refuse-unmanaged] [pod-timeout=D] [delete-after=D] [kill-after=D] [volume-timeout=D] [target=TYPE:PRIORITY]...
//	rule NAME BEHAVIOR app=A [order=N] [deadline=D] [nodes=P] [cluster] | forget NAME
//	pool P                          the node has label pool=P
//	uncordon | cordon
//	budget APP allowed=N [impossible]  a budget for the pods of an app
//	budgets of NAMESPACE unread | bad  they have not been read yet, or cannot be
//	rules of NAMESPACE unread | bad | read  the same of its rules; those of the namespaces "default" and "slipway-system" are read
//	pod NAME... [app=A] [owner=O] [daemonset] [priority=N] [grace=D] [claim=C] [namespace=N] [label=BEHAVIOR]
//	watches failed | well           whether the watches of node, pods and budgets work
//	accept NAME | refuse NAME | timeout NAME  how the server answers, or that it does not
//	ignored NAME | missing NAME     the server says that it will end, or that it is not there; and it stays
//	gone NAME... | finished NAME | terminating NAME  the pod disappears, ends by itself, or somebody else deletes it
//	attached VOLUME... | claim C VOLUME
//	responders unknown | none | served  whether Evictions are served
//	own NAME...                     these pods have responders of their own
//	eviction NAME [active=R] [last] [since] [alive] [failed=WHY] [uid=U]  what becomes of the pod's Eviction; without more: it runs
//	no eviction NAME
//	clock D                         time passes
//	server D behind                 by which the server's clock is behind ours
//	machine stops in D [unclocked]  its shutdown has begun; or has at a time that is not known
//	nothing is left                 the last LIST shows no pod
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := newStory()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.command(t, d)
			return s.settle()
		})
	})
}

// story is one drain whose cluster does what a script says.
type story struct {
	memory
	facts   facts
	pods    map[string]*corev1.Pod
	sent    map[string]send
	serial  int
	claimed map[types.NamespacedName]string
	own     map[string]bool
	answers map[string]Response // by pod
}

func newStory() *story {
	s := &story{
		memory: newMemory(), facts: calm(), pods: map[string]*corev1.Pod{}, sent: map[string]send{},
		claimed: map[types.NamespacedName]string{}, own: map[string]bool{}, answers: map[string]Response{},
	}
	s.facts.ruled, s.facts.rules, s.facts.own = true, map[string][]Rule{"default": nil, "slipway-system": nil}, "slipway-system"
	s.facts.budgets["slipway-system"] = nil
	return s
}

func (s *story) command(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "request":
		s.facts.request = request(t, d)
	case "rule":
		s.facts.rules["default"] = append(s.facts.rules["default"], ruleOf(t, d))
	case "forget":
		s.facts.rules["default"] = slices.DeleteFunc(s.facts.rules["default"], func(r Rule) bool { return r.Name == d.CmdArgs[0].Key })
	case "pool":
		s.facts.node.labels = labels.Set{"pool": d.CmdArgs[0].Key}
	case "cordon", "uncordon":
		s.facts.node.unschedulable = d.Cmd == "cordon"
	case "budget":
		app := d.CmdArgs[0].Key
		s.facts.budgets["default"] = []*budget{newPDB(app, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchLabels["app"] = app
			b.Status.DisruptionsAllowed = int32(number(t, d, "allowed"))
			if d.HasArg("impossible") {
				impossible(b)
			}
		})}
	case "budgets":
		s.facts.rules[d.CmdArgs[1].Key] = nil
		s.facts.budgetsBad = map[string]bool{d.CmdArgs[1].Key: d.CmdArgs[2].Key == "bad"}
	case "rules":
		s.readRules(d.CmdArgs[1].Key, d.CmdArgs[2].Key)
	case "pod":
		s.start(t, d)
	case "watches":
		s.facts.unheard = map[string]bool{"default": d.CmdArgs[0].Key == "failed"}
	case "accept", "refuse", "timeout", "ignored", "missing":
		s.answer(t, d.CmdArgs[0].Key, answers[d.Cmd], d.Cmd == "accept")
	case "gone":
		for _, arg := range d.CmdArgs {
			delete(s.pods, arg.Key)
		}
	case "finished":
		s.change(d.CmdArgs[0].Key, phase(corev1.PodSucceeded))
	case "terminating":
		s.change(d.CmdArgs[0].Key, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: s.facts.now.Add(time.Minute)} })
	case "attached":
		s.facts.node.attached = nil
		for _, arg := range d.CmdArgs {
			s.facts.node.attached = append(s.facts.node.attached, arg.Key)
		}
	case "claim":
		s.claimed[types.NamespacedName{Namespace: "default", Name: d.CmdArgs[0].Key}] = d.CmdArgs[1].Key
	case "responders":
		s.facts.responders.Known, s.facts.responders.Served = d.CmdArgs[0].Key != "unknown", d.CmdArgs[0].Key == "served"
		s.facts.respondersLate = noon.Add(readLate)
	case "own":
		for _, arg := range d.CmdArgs {
			s.own[arg.Key] = true
		}
	case "eviction":
		s.answers[d.CmdArgs[0].Key] = s.response(d)
	case "no":
		delete(s.answers, d.CmdArgs[1].Key)
	case "clock":
		s.facts.now = s.facts.now.Add(duration(t, d.CmdArgs[0].Key))
	case "server":
		s.facts.ahead = -duration(t, d.CmdArgs[0].Key)
	case "machine":
		s.facts.shutdown = span{s.facts.now, duration(t, d.CmdArgs[2].Key)}
		if d.HasArg("unclocked") {
			s.facts.shutdown.since = time.Time{}
		}
	case "nothing":
		s.confirmed = true
	default:
		d.Fatalf(t, "there is no command %q", d.Cmd)
	}
}

func (s *story) readRules(namespace, how string) {
	delete(s.facts.rules, namespace)
	if how == "read" {
		s.facts.rules[namespace] = nil
	}
	s.facts.rulesBad = map[string]bool{namespace: how == "bad"}
}

// settle decides, as the loop does, and prints what comes of it.
func (s *story) settle() string {
	if s.gone+len(s.present)+len(s.pods) == 0 {
		return "no pods yet\n"
	}
	var out strings.Builder
	for range 10 {
		f := s.look()
		p := decide(f)
		s.keep(p.notes)
		for _, send := range p.evict {
			s.memory.sent(send)
			s.sent[send.pod.Name] = send
			fmt.Fprintln(&out, []string{"evict", "delete", "kill"}[send.by], send.pod.Name)
		}
		for _, claim := range p.resolve {
			fmt.Fprintln(&out, "resolve", claim.Name)
			s.volumes[claim] = s.claimed[claim]
		}
		if len(p.evict)+len(p.resolve) > 0 {
			continue
		}
		s.describe(&out, p)
		return out.String()
	}
	return out.String() + "does not settle\n"
}

func (s *story) look() facts {
	f := s.facts
	f.pods, f.nodeName = nil, "w1"
	for _, pod := range s.pods {
		f.pods = append(f.pods, pod)
	}
	f.responders.Pods = map[types.UID]Response{}
	for _, pod := range s.pods {
		r := s.answers[pod.Name]
		r.Own = s.own[pod.Name]
		f.responders.Pods[pod.UID] = r
	}
	s.saw(covered(f.pods, f.request, f.own), func(uid types.UID) bool {
		return slices.ContainsFunc(f.pods, func(p *corev1.Pod) bool { return p.UID == uid })
	})
	s.fill(&f)
	return f
}

func (s *story) describe(out *strings.Builder, p plan) {
	for _, b := range p.status.Blockers {
		fmt.Fprintln(out, strings.Join(strings.Fields(fmt.Sprint("held ", b.Pod.Name, " ", b.Reason, " ", b.By)), " "))
	}
	for _, b := range p.status.Left {
		fmt.Fprintln(out, strings.Join(strings.Fields(fmt.Sprint("left ", b.Pod.Name, " ", b.Reason, " ", b.By)), " "))
	}
	for _, named := range p.status.Named {
		fmt.Fprintf(out, "named %s\n", named.Name)
	}
	for _, name := range p.status.Overridden {
		fmt.Fprintf(out, "overridden %s\n", name.Name)
	}
	fmt.Fprintln(out, p.status.Message)
	if p.confirm {
		fmt.Fprintln(out, "look once more")
	}
	if !p.wake.IsZero() {
		fmt.Fprintf(out, "until %s\n", p.wake.Sub(noon))
	}
	if p.status.Reached {
		fmt.Fprintln(out, "reached")
	}
}

func (s *story) start(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) > 0 || arg.Key == "daemonset" {
			break
		}
		s.serial++
		pod := newPod(arg.Key, func(p *corev1.Pod) { p.UID = types.UID(fmt.Sprint(arg.Key, "-", s.serial)) })
		pod.Labels["app"] = text(d, "app", "web")
		pod.Labels[BehaviorLabel] = text(d, "label", "")
		pod.Namespace = text(d, "namespace", "default")
		pod.Spec.Priority = new(int32(number(t, d, "priority")))
		pod.Spec.TerminationGracePeriodSeconds = new(int64(duration(t, text(d, "grace", "30s")) / time.Second))
		if owner := text(d, "owner", ""); owner != "" {
			kind := map[bool]string{true: "DaemonSet", false: "ReplicaSet"}[d.HasArg("daemonset")]
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true),
			}}
		}
		if claim := text(d, "claim", ""); claim != "" {
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		}
		s.pods[arg.Key] = pod
	}
}

// change writes a new version of a pod.
func (s *story) change(name string, change func(*corev1.Pod)) {
	pod := s.pods[name].DeepCopy()
	s.serial++
	pod.ResourceVersion = strconv.Itoa(s.serial)
	change(pod)
	s.pods[name] = pod
}

var answers = map[string]answer{
	"accept":  {outcome: accepted},
	"ignored": {outcome: accepted},
	"missing": {outcome: vanished},
	"refuse":  {outcome: refused, refusal: &obstacle{reason: EvictionRefused, by: "webhook"}},
	"timeout": {outcome: refused, refusal: &obstacle{reason: EvictionTimedOut}},
}

// answer answers what was sent last for a pod, which begins to end if that has an effect.
func (s *story) answer(t *testing.T, name string, a answer, effect bool) {
	t.Helper()
	send, found := s.sent[name]
	if !found {
		t.Fatalf("nothing was sent for %s", name)
	}
	delete(s.sent, name)
	s.learned(answered{answer: a, pod: send.pod, by: send.by}, s.facts.now, 1)
	if !effect {
		return
	}
	s.change(name, func(p *corev1.Pod) {
		grace := *p.Spec.TerminationGracePeriodSeconds
		if send.by == byKill {
			grace = 1
		}
		p.DeletionGracePeriodSeconds = &grace
		p.DeletionTimestamp = &metav1.Time{Time: s.facts.now.Add(s.facts.ahead + time.Duration(grace)*time.Second)}
	})
}

func (s *story) response(d *datadriven.TestData) Response {
	name := d.CmdArgs[0].Key
	r := Response{
		State: EvictionRunning, Eviction: "default/" + name, UID: types.UID(text(d, "uid", "eviction-of-"+name)),
		Responder: text(d, "active", ""), Last: d.HasArg("last"), Message: text(d, "failed", ""),
	}
	if r.Message != "" {
		r.State = EvictionFailed
	}
	if d.HasArg("since") {
		r.Since = s.facts.now
	}
	if d.HasArg("alive") {
		r.Heartbeat = s.facts.now
	}
	return r
}

func request(t *testing.T, d *datadriven.TestData) Request {
	t.Helper()
	r := Request{
		Mode: Mode(text(d, "mode", "")),
		Hold: d.HasArg("hold"), RefuseUnmanaged: d.HasArg("refuse-unmanaged"), PodTimeout: duration(t, text(d, "pod-timeout", "0s")),
		Escalation: Escalation{
			DeleteAfter: duration(t, text(d, "delete-after", "0s")), KillAfter: duration(t, text(d, "kill-after", "0s")),
		},
		VolumeTimeout: new(duration(t, text(d, "volume-timeout", "2m"))),
	}
	for _, arg := range d.CmdArgs {
		if arg.Key == "target" {
			kind, highest, _ := strings.Cut(arg.Vals[0], ":")
			p, err := strconv.Atoi(highest)
			if err != nil {
				t.Fatal(err)
			}
			r.Targets = append(r.Targets, Target{PodType: PodType(kind), PodPriority: new(int32(p))})
		}
	}
	return r
}

func ruleOf(t *testing.T, d *datadriven.TestData) Rule {
	t.Helper()
	r := Rule{
		Name: d.CmdArgs[0].Key, Behavior: Behavior(d.CmdArgs[1].Key), Cluster: d.HasArg("cluster"),
		Pods:  labels.SelectorFromSet(labels.Set{"app": text(d, "app", "")}),
		Order: int32(number(t, d, "order")), Deadline: duration(t, text(d, "deadline", "0s")),
	}
	if pool := text(d, "nodes", ""); pool != "" {
		r.Nodes = labels.SelectorFromSet(labels.Set{"pool": pool})
	}
	return r
}

func text(d *datadriven.TestData, key, unset string) string {
	for _, arg := range d.CmdArgs {
		if arg.Key == key && len(arg.Vals) > 0 {
			return arg.Vals[0]
		}
	}
	return unset
}

func number(t *testing.T, d *datadriven.TestData, key string) int {
	t.Helper()
	n, err := strconv.Atoi(text(d, key, "0"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
