import { makeArtifacts } from './make-artifacts.ts'
import { readOptions, USAGE } from './options.ts'
import type { Options } from './options.ts'

const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)

/** The options; undefined when the help or a mistake was printed instead. */
function optionsOrHelp(): Options | undefined {
  try {
    const options = readOptions(process.argv.slice(2))
    if (!options) process.stdout.write(USAGE)
    return options
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\n\n${USAGE}`)
    process.exitCode = 2
    return undefined
  }
}

const options = optionsOrHelp()
if (options) {
  try {
    makeArtifacts(options, (text) => process.stdout.write(text))
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\n`)
    process.exitCode = 1
  }
}
