import { buildImages } from './build-images.ts'
import { readOptions, USAGE } from './options.ts'
import type { Options } from './options.ts'

/** The options; undefined when the help or a mistake was printed instead. */
async function optionsOrHelp(): Promise<Options | undefined> {
  try {
    const options = await readOptions(process.argv.slice(2))
    if (!options) process.stdout.write(USAGE)
    return options
  } catch (thrown) {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${USAGE}`)
    process.exitCode = 2
    return undefined
  }
}

// Without an `await` of its own: it is bundled as CommonJS.
void optionsOrHelp()
  .then((options) => options && buildImages(options, (text) => process.stdout.write(text)))
  .catch((thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
    process.exitCode = 1
  })
