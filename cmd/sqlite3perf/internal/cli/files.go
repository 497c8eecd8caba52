package cli

import "slices"

// files is the value of the flag -o, which can be given several times.
type files struct{ o *OutputOptions }

func (f files) String() string {
	if f.o == nil {
		return ""
	}
	return f.o.File
}

func (files) Type() string { return "string" }

func (f files) Set(file string) error {
	if f.o.File == "" {
		f.o.File = file
	} else {
		f.o.More = append(f.o.More, file)
	}
	return nil
}

// Each returns the options for each output: first standard output or o.File, then the files in o.More.
func (o *OutputOptions) Each() []OutputOptions {
	first := *o
	first.More = nil
	list := []OutputOptions{first}
	for _, file := range o.More {
		next := first
		next.File, next.Format = file, FormatOf(file)
		list = append(list, next)
	}
	return list
}

// checkMore checks the files in o.More. Their extensions decide their formats.
func (o *OutputOptions) checkMore() error {
	list := o.Each()
	for i, next := range list[1:] {
		switch {
		case o.Asked == nil || Typed(o.Asked):
			return Usagef("-o %s: --format names one format, and there are several -o: leave it out, because their extensions decide", next.File)
		case next.Format == "" || next.Known(next.Format) != nil:
			next.Format = o.Format
			if err := next.CheckFormat(); err != nil {
				return err
			}
			return Usagef("-o %s: want an extension that says the format, such as .json, because there are several -o", next.File)
		case slices.ContainsFunc(list[:i+1], func(other OutputOptions) bool { return SameFile(other.File, next.File) }):
			return Usagef("-o %s is given twice: name another file", next.File)
		}
		if err := next.CheckPlace(); err != nil {
			return err
		}
	}
	return nil
}

// OnlyOne returns an error if the user typed several -o. The parameter "what" says why only one is possible.
func (o *OutputOptions) OnlyOne(what string) error {
	if len(o.More) > 0 {
		return Usagef("-o %s: %s: give one -o", o.More[0], what)
	}
	return nil
}

// Writes returns the flag that names the given file as an output, or "" if no output is that file.
func (o *OutputOptions) Writes(file string) string {
	for _, to := range o.Each() {
		if to.File != "" && SameFile(to.File, file) {
			return to.Named()
		}
	}
	return ""
}
