import { runVerify } from './verify.ts'

// oxlint-disable-next-line node/no-process-env
void runVerify(process.argv.slice(2), process.env, {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
}).then((exitCode) => (process.exitCode = exitCode))
