import { explain } from '../shared/run.ts'
import { runTask, usage } from './start.ts'

const [name = '--help'] = process.argv.slice(2)
if (name === '--help' || name === '-h') process.stdout.write(usage())
else {
  await runTask(name, process.env).catch((thrown: unknown) => {
    process.stderr.write(`${explain(thrown)}\n`)
    process.exitCode = 1
  })
}
