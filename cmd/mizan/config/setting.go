package config

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// Setting is one key of the configuration, as it was given. It takes any text,
// so that a bad value of one key does not hide a bad value of the next; what
// the text means is decided in config.go, for all keys at once.
type Setting struct {
	Raw    string
	Given  bool
	origin string // the configuration file's name; empty: a flag or the environment
}

// Decode implements kong.MapperValue.
func (s *Setting) Decode(ctx *kong.DecodeContext) error {
	s.Given = true
	return ctx.Scan.PopValueInto("text", &s.Raw)
}

// toggle is a setting that is on when its flag stands alone.
type toggle struct{ Setting }

// IsBool implements kong.BoolMapperValue.
func (t *toggle) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		t.Raw, t.Given = "true", true
		return nil
	}
	return t.Setting.Decode(ctx)
}

// Key is a setting with what its struct tag says.
type Key struct {
	*Setting
	Name     string
	Standard string // the value when nobody gives one
}

// Keys lists a command's settings in the order of its struct.
func Keys(command any) []Key {
	v := reflect.ValueOf(command).Elem()
	var list []Key
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		k := Key{Name: tag.Get("name"), Standard: tag.Get("standard")}
		switch field := v.Field(i).Addr().Interface().(type) {
		case *Setting:
			k.Setting = field
		case *toggle:
			k.Setting = &field.Setting
		default:
			continue
		}
		list = append(list, k)
	}
	return list
}

// Describe is a key's line in the help: what it does, its default, its variable.
func Describe(v *kong.Value) string {
	text := v.Help
	if standard := v.Tag.Get("standard"); standard != "" {
		text += " (default " + standard + ")"
	}
	for _, env := range v.Tag.Envs {
		text += " ($" + env + ")"
	}
	return text
}
