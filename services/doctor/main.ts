import { setTimeout as sleep } from 'node:timers/promises'
import { runDoctor } from './doctor.ts'

// oxlint-disable-next-line node/no-process-env
void runDoctor(process.argv.slice(2), process.env, {
  say: (text) => void process.stderr.write(text),
  sleep: (ms) => sleep(ms),
  now: () => performance.now(),
}).then(({ exitCode, stdout, stderr, archive }) => {
  process.stderr.write(stderr)
  process.stdout.write(archive ?? stdout)
  process.exitCode = exitCode
})
