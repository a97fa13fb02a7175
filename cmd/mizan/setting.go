package main

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// setting is one key of the configuration, as it was given. It takes any text,
// so that a bad value of one key does not hide a bad value of the next; what
// the text means is decided in config.go, for all keys at once.
type setting struct {
	raw    string
	given  bool
	origin string // the configuration file's name; empty: a flag or the environment
}

// Decode implements kong.MapperValue.
func (s *setting) Decode(ctx *kong.DecodeContext) error {
	s.given = true
	return ctx.Scan.PopValueInto("text", &s.raw)
}

// toggle is a setting that is on when its flag stands alone.
type toggle struct{ setting }

// IsBool implements kong.BoolMapperValue.
func (t *toggle) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		t.raw, t.given = "true", true
		return nil
	}
	return t.setting.Decode(ctx)
}

// key is a setting with what its struct tag says.
type key struct {
	*setting
	name     string
	standard string // the value when nobody gives one
}

// keys lists a command's settings in the order of its struct.
func keys(command any) []key {
	v := reflect.ValueOf(command).Elem()
	var list []key
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		k := key{name: tag.Get("name"), standard: tag.Get("standard")}
		switch field := v.Field(i).Addr().Interface().(type) {
		case *setting:
			k.setting = field
		case *toggle:
			k.setting = &field.setting
		default:
			continue
		}
		list = append(list, k)
	}
	return list
}

// describe is a key's line in the help: what it does, its default, its variable.
func describe(v *kong.Value) string {
	text := v.Help
	if standard := v.Tag.Get("standard"); standard != "" {
		text += " (default " + standard + ")"
	}
	for _, env := range v.Tag.Envs {
		text += " ($" + env + ")"
	}
	return text
}
