#!/usr/bin/env node
// The command `gateway` for whoever has Node alone: installs what is missing and hands all words on.
process.argv.splice(2, 0, 'gateway')
await import('./run.mjs')
