package config

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// Setting is the value of one configuration key, as the user gave it. kong, the library for flags, accepts any text for it and
// so does not stop at the first bad value. Later, flags.go checks the texts of all keys at once.
type Setting struct {
	Raw    string
	IsSet  bool
	origin string // configuration file and line that set the key; empty if a flag or the environment set it
}

// Decode implements kong.MapperValue.
func (s *Setting) Decode(ctx *kong.DecodeContext) error {
	s.IsSet = true
	return ctx.Scan.PopValueInto("text", &s.Raw)
}

// toggle is a boolean setting. If its flag is given without a value, the setting is true.
type toggle struct{ Setting }

// IsBool implements kong.BoolMapperValue.
func (t *toggle) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		t.Raw, t.IsSet = "true", true
		return nil
	}
	return t.Setting.Decode(ctx)
}

// Key is a setting, together with the name and the default in its struct tag.
type Key struct {
	*Setting
	Name     string
	Standard string // the default
}

// Keys returns the settings in a command's struct, in the order of the fields.
func Keys(command any) []Key {
	fields := reflect.ValueOf(command).Elem()
	var keys []Key
	for i := range fields.NumField() {
		tag := fields.Type().Field(i).Tag
		k := Key{Name: tag.Get("name"), Standard: tag.Get("standard")}
		switch field := fields.Field(i).Addr().Interface().(type) {
		case *Setting:
			k.Setting = field
		case *toggle:
			k.Setting = &field.Setting
		default:
			continue
		}
		keys = append(keys, k)
	}
	return keys
}

// Describe returns a key's line in the help text: its purpose, default and environment
// variable.
func Describe(setting *kong.Value) string {
	text := setting.Help
	if standard := setting.Tag.Get("standard"); standard != "" {
		text += " (default " + standard + ")"
	}
	for _, env := range setting.Tag.Envs {
		text += " ($" + env + ")"
	}
	return text
}
