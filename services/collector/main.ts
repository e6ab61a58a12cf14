import { setFlagsFromString } from 'node:v8'
import { runCommand } from './commands/run-command.ts'

// The transcoder is many small functions; with the default budget a seventh of its time goes to calling them.
setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000')

await runCommand(process.argv.slice(2), process.env)
