package protocol

// The codes of a [Reason]. They decide the status of a cell, which is the result of one driver for
// one phase of a workload. Each code is described in docs/worker-protocol.md.
const (
	// An answer is wrong.
	CodeRows      = "rows"      // the number of rows is wrong
	CodeChecksum  = "checksum"  // the values are wrong
	CodeIntegrity = "integrity" // quick_check finds a fault
	CodeAnswer    = "answer"    // an HTTP answer, or a row that a job verified, is wrong

	// A setting did not take effect when the database was opened, or had another value later in the trial.
	CodeSetting = "setting"

	// The worker's [Proof] lacks the build flag or environment variable that the variant of its
	// driver needs.
	CodeVariant = "variant"

	// The trial failed.
	CodeProtocol    = "protocol"     // a message breaks the protocol
	CodePlan        = "plan"         // the plan cannot be run
	CodePath        = "path"         // the database exists already, or does not exist although the worker must open it
	CodeUnsupported = "unsupported"  // the worker does not support this kind of phase or value
	CodeType        = "type"         // a value's type in SQLite does not match the type declared for its column
	CodeSQLite      = "sqlite"       // an error of SQLite
	CodeDiskFull    = "disk-full"    // the disk is full: SQLITE_FULL
	CodeFeature     = "feature"      // the driver's SQLite lacks a feature that the workload needs
	CodeCheckpoint  = "checkpoint"   // the checkpoint was blocked
	CodeListen      = "listen"       // the server cannot listen at the address
	CodeHTTP        = "http"         // the server failed, or requests failed
	CodeNoOperation = "no-operation" // no operation succeeded
	CodeEndless     = "endless"      // clients wait, and no operation has ended for a long time
	CodeCheck       = "check"        // one of the worker's own checks did not end
	CodeClose       = "close"        // the database could not be closed
	CodeTimeout     = "timeout"      // the worker took longer than allowed
	CodeKilled      = "killed"       // the worker was killed by SIGKILL
	CodeCrash       = "crash"        // the worker exited with a status other than 0
	CodeError       = "error"        // any other reason

	// A job failed.
	CodeUsage    = "usage"    // the database or the driver does not support an option
	CodeForeign  = "foreign"  // sqlite3perf did not create the database
	CodeDatabase = "database" // the database lacks something required, or cannot be read
	CodePartial  = "partial"  // the job failed halfway; the message says how far it got

	// The worker could not be built or started.
	CodeStart        = "start"         // the executable does not start, or is not a worker
	CodeBuild        = "build"         // the worker cannot be built
	CodeNoGo         = "no-go"         // there is no Go toolchain
	CodeNoCC         = "no-cc"         // there is no C compiler, or cgo is turned off
	CodeNoExecutable = "no-executable" // a program that the driver needs is not installed

	// The run ended before the first trial.
	CodeNoTrial = "no-trial"

	// A command of the user failed.
	CodePrepare = "prepare" // the command before the trial failed, so there was no trial
	CodeCleanup = "cleanup" // the command after the trial failed
)
