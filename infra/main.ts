import { run } from './cli.ts'

run(process.argv.slice(2), { outDir: process.env['CDK8S_OUTDIR'] ?? 'dist' }).then(
  (output) => process.stdout.write(output),
  (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
    process.exitCode = 1
  },
)
