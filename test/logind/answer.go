// SPDX-License-Identifier: Apache-2.0

package logind

import (
	"fmt"
	"math"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	service = "org.freedesktop.login1"
	object  = dbus.ObjectPath("/org/freedesktop/login1")
	manager = service + ".Manager"
	systemd = "org.freedesktop.systemd1"
)

// answer answers a call.
func (s *StandIn) answer(call *dbus.Message) {
	if call.Type != dbus.TypeMethodCall {
		return
	}
	var err error
	switch member := call.Headers[dbus.FieldMember].Value(); member {
	case "Inhibit":
		err = s.inhibit(call)
	case "Get":
		err = s.get(call)
	default:
		err = s.refuse(call, "org.freedesktop.DBus.Error.UnknownMethod", fmt.Sprint(member))
	}
	if err != nil {
		s.t.Errorf("logind cannot answer: %v", err)
	}
}

// inhibit gives a lock.
func (s *StandIn) inhibit(call *dbus.Message) error {
	if what, mode := call.Body[0], call.Body[3]; what != "shutdown" || mode != "delay" {
		return s.refuse(call, "org.freedesktop.DBus.Error.InvalidArgs", fmt.Sprintf("%v, %v", what, mode))
	}
	if s.preparing() {
		return s.refuse(call, service+".OperationInProgress", "The operation inhibition has been requested for is already running")
	}
	given, err := s.lock()
	if err != nil {
		return err
	}
	defer given.Close()
	return s.reply(call, dbus.UnixFD(given.Fd()))
}

// get answers with a property.
func (s *StandIn) get(call *dbus.Message) error {
	switch name := call.Body[1]; name {
	case "PreparingForShutdown":
		return s.reply(call, dbus.MakeVariant(s.preparing()))
	case "InhibitDelayMaxUSec":
		s.mu.Lock()
		defer s.mu.Unlock()
		limit := uint64(s.delay / time.Microsecond)
		if s.delay == math.MaxInt64 {
			limit = math.MaxUint64 // as logind has "infinity"
		}
		return s.reply(call, dbus.MakeVariant(limit))
	case "SystemState":
		return s.reply(call, dbus.MakeVariant(s.state()))
	default:
		return s.refuse(call, "org.freedesktop.DBus.Error.UnknownProperty", fmt.Sprint(name))
	}
}

func (s *StandIn) preparing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shutdown != nil
}

// state is systemd's: it stops the machine when nothing delays that any longer.
func (s *StandIn) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutdown != nil && s.shutdown.over {
		return "stopping"
	}
	return "running"
}

func (s *StandIn) reply(call *dbus.Message, value any) error {
	return s.send(call, dbus.TypeMethodReply, nil, value)
}

func (s *StandIn) refuse(call *dbus.Message, name, message string) error {
	return s.send(call, dbus.TypeError, map[dbus.HeaderField]dbus.Variant{dbus.FieldErrorName: dbus.MakeVariant(name)}, message)
}

func (s *StandIn) send(call *dbus.Message, kind dbus.Type, headers map[dbus.HeaderField]dbus.Variant, value any) error {
	answer := &dbus.Message{Type: kind, Headers: headers, Body: []any{value}}
	if headers == nil {
		answer.Headers = map[dbus.HeaderField]dbus.Variant{}
	}
	answer.Headers[dbus.FieldDestination] = call.Headers[dbus.FieldSender]
	answer.Headers[dbus.FieldReplySerial] = dbus.MakeVariant(call.Serial())
	answer.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(value))
	return s.conn.Send(answer, nil).Err
}
