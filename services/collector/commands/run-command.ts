import type { EnvSource } from '../../shared/env.ts'
import { AppError } from '../../shared/errors.ts'
import { endOnSignal, explain, run } from '../../shared/run.ts'
import { runMigration } from '../schema.ts'
import { start } from '../start.ts'
import type { Command, Output } from './command.ts'
import { runReader } from '../store/archive/reader-process.ts'
import { archiveCommand, verifyArchiveCommand } from './archive.ts'
import { exportCommand } from './export.ts'
import { importCommand } from './import.ts'
import { rebuildCommand } from './rebuild.ts'
import { tokenCommand } from './token.ts'
import { verifyCommand } from './verify.ts'

const USAGE = `Usage: node build/collector/main.js [command]

  serve     the collector itself (default)
  migrate   bring the database's schema up to date and end
  verify    write a trace and read it back
  rebuild   make what lists and totals read anew from the spans
  archive   move the days that are due into files of the object store
  archive:verify DAY
            compare the files of a day with what was written
  export    write spans as lines of OTLP JSON
  import    send such lines to a collector
  token     print a token for an emitter

serve and migrate are configured by the environment; the others have a --help of their own.
`

/** The command could not be carried out: what was to be found out is still unknown. */
const NOT_TRIED = 3

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: (_, source) => run((given) => start(given, { program: process.argv[1] }), source),
  migrate: endable((_, source) => runMigration(source)),
  archive: endable(archiveCommand),
  'archive:verify': endable(verifyArchiveCommand),
  'archive:reader': (_, source) => runReader(source),
  verify: endable(verifyCommand),
  rebuild: endable(rebuildCommand),
  token: tokenCommand,
  export: endable(exportCommand),
  import: endable(importCommand),
  help: async (_, __, output) => output.out(USAGE),
}

/** A command that a signal may end at any time. */
function endable(command: Command): Command {
  return async (...given) => {
    const release = endOnSignal()
    return command(...given).finally(release)
  }
}

/** Runs what the command line names, and sets the exit code of the process. */
export async function runCommand(args: readonly string[], source: EnvSource): Promise<void> {
  const [given = 'serve', ...rest] = args
  const name = given === '--help' || given === '-h' ? 'help' : given
  const output: Output = {
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
  }
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (!command)
      throw new AppError(
        'invalid_configuration',
        `There is no command ${JSON.stringify(name)}.\n\n${USAGE}`,
      )
    const code = await command(rest, source, output)
    if (typeof code === 'number') process.exitCode = code
  } catch (thrown) {
    output.error(`${explain(thrown).trimEnd()}\n`)
    process.exitCode = NOT_TRIED
  }
}
