package lab

// VersionMod writes the go.mod of another version, as a build does.
var VersionMod = versionMod
