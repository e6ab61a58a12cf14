import { endOnSignal, explain } from '../shared/run.ts'
import { runTask, usage } from './start.ts'

const args = process.argv.slice(2)
if (args.length === 0 || args[0] === '--help' || args[0] === '-h') process.stdout.write(usage())
else {
  endOnSignal()
  void runTask(args, process.env)
    .catch((thrown: unknown) => {
      process.stderr.write(`${explain(thrown)}\n`)
      return 1
    })
    .then((exitCode) => (process.exitCode = exitCode))
}
