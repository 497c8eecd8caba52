package document

// Hint is a command. Shows says in a word or two what the command prints.
type Hint struct{ Shows, Command string }

// Options determine how a document is written.
type Options struct {
	Color bool // for the format "table": use ANSI colors
	Width int  // for the format "table": columns of the terminal, at least 40; 0 means 120
	Lines int  // for the format "table": if above 0, the greatest number of lines, at least 16; a document with more lines is shortened
	ASCII bool // for the format "table": write ASCII only
	Hints Hints

	// Assets, for the format "html", is the URL of the directory with the files of the variable
	// Assets. It ends with a slash. If it is "", each page contains the files.
	Assets string

	Source string // for the format "html": the line below the headline that names the run; "" if there is none

	// Links, for the format "html", are at the top of the page. They lead to other pages of a site.
	Links []Reference
}

// Hints are flags and commands that a reader can type. A hint is "" if the program has no such flag
// or command.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
	Compare   string // the command that compares the two sides (such as two drivers) of this run
	Further   string // the command that measures the additional rounds that a comparison or an imprecise figure needs; "" if there is none
	Full      string // the command that prints the complete report
	FullFlag  string // the flag with which the command Full prints the complete report
	Resume    string // the command that continues this run; "" if the run cannot be continued
	Directory string // the flag that names the directory for databases
	Scale     string // the flag that makes workloads larger
	Samples   string // the flags that give a profile more samples
	Pass      string // advice for a gate (a check of a candidate) that could not exclude a regression

	More []string // the commands that show more figures of this run
	Rest []Hint   // the commands that show what this screen has no room for
}

// Extensions maps file name extensions to formats.
var Extensions = []struct{ Extension, Format string }{
	{".txt", "table"}, {".md", "markdown"}, {".markdown", "markdown"}, {".html", "html"}, {".htm", "html"},
	{".csv", "csv"}, {".json", "json"}, {".bench", "benchfmt"}, {".benchfmt", "benchfmt"}, {".xml", "junit"}, {".svg", "svg"}, {".png", "png"},
}
